"""Every window in which dyno-queues can go wrong ends as docs/dyno-windows.md says, in each of the three modes.

Method: each course of events is played on three simulated zones, once in each mode of V1 and, where there is such a
window, in hardened mode, and what was seen is compared with the page word for word. ``pytest -k`` with the name of a
window plays one. Then bugs are planted in the queue and mechanisms switched off, and courses that are about what they
break must tell.
"""

import pytest
from support.windows import COURSES
from support.windows.hardened import HARDENED_COURSES
from support.windows.hardened_stage import HardenedStage
from support.windows.page import MODES, PAGE, cells, rows, seen, with_what_is_seen

import engine.dyno.v1.lease
import engine.dyno.v1.original_pop
import engine.dyno.v1.pop
import engine.dyno.v1.unack
import engine.dyno.v2.steps
from engine.dyno.hardened import Hardening
from engine.dyno.message_json import decode
from engine.dyno.v1.ack import Acks
from engine.dyno.v1.scripts import ORIGINAL_SCRIPTS, SCRIPTS
from engine.message import Delivery

NOT_PLAYED = "not played: "
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = rows(TEXT)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("window", COURSES)
def test_a_window_ends_as_the_page_says(window, mode):
    assert seen(window, mode) == ROWS[window][mode]


@pytest.mark.parametrize("window", HARDENED_COURSES)
def test_hardened_mode_ends_as_the_page_says(window):
    assert seen(window, "hardened") == ROWS[window]["hardened"]


def test_what_hardened_mode_does_not_play_has_a_reason():
    assert [name for name in HARDENED_COURSES if name not in COURSES] == []
    rest = {name: row["hardened"] for name, row in ROWS.items() if name not in HARDENED_COURSES}
    assert [name for name, text in rest.items() if len(text.removeprefix(NOT_PLAYED)) in (0, len(text))] == []


def test_the_page_has_every_window_and_no_other():
    assert sorted(ROWS) == sorted(COURSES)


def test_every_row_says_what_happens_and_what_reading_predicts():
    table = [row for line in TEXT.splitlines() if (row := cells(line))]
    assert [row[0] for row in table if not all(row)] == []


def test_the_page_made_again_is_the_page():
    line = next(line for line in TEXT.splitlines(keepends=True) if "`race_two_pops`" in line)
    assert with_what_is_seen(line) == line
    assert with_what_is_seen(line.replace("the slower gets nothing", "both get it")) == line
    assert with_what_is_seen("## Races\n") == "## Races\n"


async def take_before_lease(context, message_id, *, shard=None, lease_end_ms=None):
    shard = shard or context.settings.shard
    await context.quorum.zrem(context.keys.queue_of(shard), message_id)
    await context.quorum.zadd(context.keys.unack(shard), context.clock.now_ms() + 1000, message_id, flag="NX")


async def requeue_unlisted_first(context, message_id, raw, lease_end):
    await context.quorum.zrem(context.keys.unack(context.settings.shard), message_id)
    await context.quorum.zadd(context.keys.queue_of(context.settings.shard), lease_end, message_id)


async def ack_payload_first(self, message_id, effects):
    await self._context.quorum.hdel(self._context.keys.messages, message_id)
    return await self._context.quorum.zrem(self._context.keys.unack("a"), message_id) > 0


async def lease_over_a_lease(context, message_id, *, shard=None, lease_end_ms=None):
    key = context.keys.unack(shard or context.settings.shard)
    await context.quorum.zrem(key, message_id)
    return await LEASE(context, message_id, shard=shard, lease_end_ms=lease_end_ms)


async def lease_without_asking(context, message_id, *, shard=None, lease_end_ms=None):
    """Whether there was a lease, and whether the message was still waiting."""
    shard, end_ms = shard or context.settings.shard, context.clock.now_ms() + 1000
    await context.quorum.zadd(context.keys.unack(shard), end_ms, message_id)
    await context.quorum.zrem(context.keys.queue_of(shard), message_id)
    raw = await context.quorum.hget(context.keys.messages, message_id)
    if raw is None:
        return None
    message = decode(raw, message_id=message_id)
    return Delivery(message=message, shard=shard, lease_start_ms=0, leased_ms=0, lease_end_ms=end_ms)


def push_ids_first(keys, entries):
    commands = PUSH_COMMANDS(keys, entries)
    return [command for pair in zip(commands[1::2], commands[::2], strict=True) for command in pair]


async def lease_what_is_taken_out(quorum, keys, ids, *, end_ms):
    await engine.dyno.v2.steps.unlist(quorum, keys, ids)
    return await LEASE_BATCH(quorum, keys, ids, end_ms=end_ms)


LEASE = engine.dyno.v1.lease.lease
PUSH_COMMANDS, LEASE_BATCH = engine.dyno.v2.steps.push_commands, engine.dyno.v2.steps.lease

PLANTED = [
    (engine.dyno.v1.pop, "lease", take_before_lease, "crash_pop_after_removal"),
    (engine.dyno.v1.pop, "lease", lease_without_asking, "race_two_pops"),
    (engine.dyno.v1.pop, "lease", lease_without_asking, "race_pop_after_half_an_ack"),
    (engine.dyno.v1.pop, "lease", lease_over_a_lease, "vote_minority_keeps_an_old_lease"),
    (engine.dyno.v1.unack, "_requeue", requeue_unlisted_first, "crash_requeue_after_listing"),
    (engine.dyno.v1.unack, "_requeue", requeue_unlisted_first, "race_two_handlers"),
    (Acks, "_ack_lease", ack_payload_first, "crash_ack_after_lease_removed"),
    (Acks, "_ack_lease", ack_payload_first, "race_pop_after_half_an_ack"),
    (engine.dyno.v2.steps, "push_commands", push_ids_first, "v2_crash_push_within_its_pipeline"),
    (engine.dyno.v2.steps, "lease", lease_what_is_taken_out, "v2_crash_pop_after_leases"),
]


@pytest.mark.parametrize(("place", "name", "bug", "window"), PLANTED, ids=[f"{p[2].__name__}-{p[3]}" for p in PLANTED])
def test_a_bug_planted_in_the_queue_shows(monkeypatch, place, name, bug, window):
    monkeypatch.setattr(place, name, bug)
    try:
        shown = seen(window, "default")
    except AssertionError:
        return
    assert shown != ROWS[window]["default"]


def test_the_default_script_in_the_place_of_the_originals_shows(monkeypatch):
    monkeypatch.setitem(SCRIPTS, "process_unacks", SCRIPTS["process_unacks"].replace("lease_end <= now", "true"))
    assert seen("race_two_atomic_handlers", "default") == ROWS["race_two_atomic_handlers"]["original"]
    monkeypatch.setitem(ORIGINAL_SCRIPTS, "bulk_pop", ORIGINAL_SCRIPTS["bulk_pop"].replace("return {tried} end", "end"))
    assert seen("bulk_pop_of_an_id_that_is_gone", "original") == ROWS["bulk_pop_of_an_id_that_is_gone"]["default"]


@pytest.mark.parametrize(
    ("mechanism", "window"),
    [
        (Hardening.IDEMPOTENT_PUSH, "crash_ack_after_lease_removed"),
        (Hardening.SHARD_TAKEOVER, "zone_without_consumers"),
        (Hardening.LEASE_HEARTBEAT, "race_two_handlers"),
        (Hardening.DELIVERY_TOKENS, "race_late_ack"),
        (Hardening.ANTI_ENTROPY, "zone_server_back_empty"),
        (Hardening.LEASE_PROOF, "vote_tie_of_two_pops_quorum"),
        (Hardening.TOMBSTONES, "lag_ack_not_there_yet_quorum"),
    ],
)
def test_a_mechanism_of_hardened_mode_that_is_off_shows(mechanism, window):
    assert HardenedStage(without=(mechanism,)).play(HARDENED_COURSES[window]) != ROWS[window]["hardened"]


def test_a_row_that_says_otherwise_is_found():
    row = "| `race_two_pops` | what | predicted | {} | the same | – |"
    assert rows(row.format("both get it"))["race_two_pops"]["default"] != seen("race_two_pops", "default")
    assert rows(row.format(ROWS["race_two_pops"]["original"]))["race_two_pops"] == {
        **ROWS["race_two_pops"],
        "hardened": "–",
    }
