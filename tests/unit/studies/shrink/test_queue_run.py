"""Goal: every planted bug shrinks to at most 3 faults and 10 operations, the same way each time, and tells its story.

Method: the first failing seed of each planted bug is shrunk and run again; delta debugging on lists with known answers.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.app.commands import zonelab_here
from support.scenarios.short_runs import scenario_file
from support.scenarios.sim_runs import SMALL, small
from support.studies.planted import PLANTED, PopRemovesFirst

from zonelab.analysis.message_classes import MessageClass
from zonelab.app.verbs.shrink import class_of
from zonelab.cluster.random_streams import Streams
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno import DynoQueue
from zonelab.engine.dyno.hardened import Hardening
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.queue import Queue
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, scenario_of_class
from zonelab.scenarios.faults.catalogue import CLASSES
from zonelab.scenarios.faults.fault import Fault
from zonelab.scenarios.queues.dyno import DynoUnderTest
from zonelab.scenarios.queues.under_test import Wrap
from zonelab.scenarios.run.command_log import CommandLog
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.push_plan import explicit_operations
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.rules import problems
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.guarantees.mechanisms import Ablation
from zonelab.studies.hunt.seeds import HuntTarget, hunt_seed
from zonelab.studies.shrink import queue_run as shrink_module
from zonelab.studies.shrink.ddmin import minimal_part
from zonelab.studies.shrink.queue_run import shrink
from zonelab.studies.shrink.search import NotFailing, Shrunk
from zonelab.studies.stories.story import story

FAULTS_TARGET = 3
OPERATIONS_TARGET = 10


@cache
def failing(bug: str) -> Scenario:
    make_queue, guilty_of, changes = PLANTED[bug]
    target = HuntTarget(scenario=small(**changes), messages=40, make_queue=make_queue)
    return target.run_of(next(seed for seed in range(1, 60) if guilty_of in hunt_seed(target, seed).violated))


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_shrinks_to_a_run_that_still_shows_it(bug: str) -> None:
    make_queue, guilty_of, _ = PLANTED[bug]
    before = failing(bug)
    shrunk = shrink(before, guilty_of, make_queue=make_queue)
    after = shrunk.scenario
    assert len(before.load.operations) > OPERATIONS_TARGET
    assert len(after.faults) <= min(FAULTS_TARGET, len(before.faults))
    assert 0 < len(after.load.operations) <= OPERATIONS_TARGET
    assert not shrunk.bounded
    assert problems(after) == []
    again = attempt(after, make_queue=make_queue)
    assert guilty_of in again.violated
    assert again.run.trace_hash == after.found.trace_hash
    assert guilty_of not in attempt(after).violated


def test_shrinking_is_the_same_each_time_and_ends_at_its_limit() -> None:
    def once(runs_max: int) -> Shrunk:
        scenario = failing("a pop removes before it leases")
        return shrink(scenario, MessageClass.LOST, make_queue=PopRemovesFirst, runs_max=runs_max)

    assert once(15).scenario == once(15).scenario
    limited = once(5)
    assert (limited.bounded, limited.runs) == (True, 5)
    assert MessageClass.LOST in attempt(limited.scenario, make_queue=PopRemovesFirst).violated


@pytest.mark.parametrize(("retries", "tried"), [(0, set()), (1, {0}), (6, {0, 1})])
def test_a_run_is_tried_without_retries_and_with_one(retries: int, tried: set[int]) -> None:
    plainer = shrink_module._plainer_settings(small(load={"retries": retries}))
    assert {scenario.load.retries for scenario in plainer} - {retries} == tried


def test_what_does_not_fail_cannot_be_shrunk() -> None:
    sound = HuntTarget(scenario=small(), messages=10).run_of(1)
    with pytest.raises(NotFailing, match="the run violates nothing, not lost"):
        shrink(sound, MessageClass.LOST)
    with pytest.raises(NotFailing, match="drawn by a rate"):
        shrink(small(), MessageClass.LOST)
    with pytest.raises(NotFailing, match="tells of nothing"):
        class_of(sound, None)


class Ghosts(DynoUnderTest):
    """The program that takes a dead one's place gets a message of its own making beside the first that was pushed."""

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        queue = await super().consumer(zone, wrap)
        self.lives = getattr(self, "lives", 0) + 1
        pop, unborn = queue.pop, self.lives > len(self.shards) * self._scenario.consumers.per_zone

        async def haunted(count: int, *, wait_ms: int) -> list[Delivery]:
            found = await pop(count, wait_ms=wait_ms)
            return [*found, *(replace(one, message=Message(id="ghost")) for one in found[:1] if unborn)]

        queue.pop = haunted  # type: ignore[method-assign]
        return queue


class MixesUp(DynoUnderTest):
    """Every message has the body of the first one that its consumer got."""

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        queue = await super().consumer(zone, wrap)
        pop, bodies = queue.pop, list[str]()

        async def mixed_up(count: int, *, wait_ms: int) -> list[Delivery]:
            found = await pop(count, wait_ms=wait_ms)
            bodies.extend(one.message.payload for one in found)
            return [replace(one, message=replace(one.message, payload=bodies[0])) for one in found]

        queue.pop = mixed_up  # type: ignore[method-assign]
        return queue


def test_a_body_of_another_message_is_found_and_shrunk_to_two_messages() -> None:
    before = HuntTarget(scenario=small(consumers={"per_zone": 1}), messages=10).run_of(1)
    shrunk = shrink(before, MessageClass.UNEXPECTED, make_queue=MixesUp, runs_max=60)
    assert len(shrunk.scenario.load.operations or ()) == 2


def test_a_message_that_nobody_pushed_leaves_no_run_without_messages_to_try() -> None:
    crash = {"kind": "consumer_crash", "zone": "a", "consumer": 0, "at_s": 0.0, "for_s": 0.1}
    before = HuntTarget(scenario=small(consumers={"per_zone": 1}), messages=10).run_of(1)
    before = before.model_copy(update={"faults": small(faults=[crash]).faults})
    shrunk = shrink(before, MessageClass.UNEXPECTED, make_queue=Ghosts, runs_max=30)
    assert shrunk.trial.verdict.cases["unexpected"][0].message_id == "ghost"


def test_an_orphan_is_left_the_time_to_be_found() -> None:
    unswept = Ablation.of(Hardening.ORPHAN_SWEEPER)
    drawn = scenario_of_class(FaultClass.V1_PRODUCERS_CRASH, level=Level.DC_QUORUM, mode=EngineMode.HARDENED, seed=1)
    shrunk = shrink(drawn, MessageClass.ORPHAN, make_queue=unswept.make_queue, runs_max=60).scenario
    assert len(shrunk.load.operations) == 1
    assert MessageClass.ORPHAN in attempt(shrunk, make_queue=unswept.make_queue).violated
    assert not attempt(shrunk).violated


def test_the_story_of_poison_says_who_kills() -> None:
    operations = [{"at_ms": 1.0, "zone": "a", "id": "bad", "poison": True}, {"at_ms": 1.0, "zone": "a", "id": "good"}]
    scenario = small(load={"rate_per_s": 0, "operations": operations}, consumers={"per_zone": 1, "batch": 1})
    page = story(scenario, MessageClass.STUCK)
    assert "2 messages (poison, which kills its consumers: bad), 0 faults" in page


def test_the_story_of_a_loss_shows_each_command_and_every_zone() -> None:
    shrunk = shrink(failing("a pop removes before it leases"), MessageClass.LOST, make_queue=PopRemovesFirst)
    (operation,) = shrunk.scenario.load.operations
    page = story(shrunk.scenario, MessageClass.LOST, make_queue=PopRemovesFirst)
    moments = [f"push {operation.id}: done", "consumer_crash", "ZREM zonelab.QUEUE", "dies in pop", "At the end"]
    places = [page.index(moment) for moment in moments]
    assert places == sorted(places)
    for zone in "abc":
        assert f"- {operation.id} in zone {zone}: payload" in page
    assert shrunk.trial.run.trace_hash in page
    assert len(page.splitlines()) < 60


class Probing(PopRemovesFirst):
    """Each push writes the id, with bytes of no text behind it, under a key of its own."""

    def _instance(self, zone: str, wrap: Wrap) -> DynoQueue:
        queue = super()._instance(zone, wrap)
        push, redis = queue.push, queue._context.quorum

        async def probed(messages: Sequence[Message]) -> list[Receipt]:
            await redis.hset("probe", "last", messages[0].id.encode() + b"\xff\x00")
            return await push(messages)

        queue.push = probed  # type: ignore[method-assign]
        return queue


def test_the_story_has_commands_that_name_the_message_within_bytes() -> None:
    page = story(failing("a pop removes before it leases"), MessageClass.LOST, make_queue=Probing)
    lost = page.partition("At the end:")[2].split()[1]
    assert f"HSET probe last {lost}\\xff\\x00" in page


def test_a_command_log_changes_nothing_and_sees_every_answer() -> None:
    scenario = HuntTarget(scenario=small(faults=[{"kind": "kill", "zone": "b", "at_s": 0.2, "for_s": 0.3}])).run_of(3)
    log = CommandLog()
    seen, unseen = attempt(scenario, observe=log.testbed), attempt(scenario)
    assert seen.equals(unseen)
    pushes = [sent for sent in log.commands if sent.command[0] == "HSET"]
    assert len(pushes) == len(scenario.load.operations)
    assert {sent.program for sent in pushes} == {f"producer-{zone} push" for zone in "abc"}
    assert all(set(sent.answers) == set("abc") for sent in pushes)
    assert any(sent.program.endswith("unack") for sent in log.commands)


@given(wanted=st.sets(st.integers(0, 40)), size=st.integers(41, 60))
def test_delta_debugging_keeps_exactly_what_is_needed(wanted: set[int], size: int) -> None:
    assert set(minimal_part(range(size), lambda part: wanted <= set(part))) == wanted


@given(data=st.lists(st.integers(0, 100), min_size=1), limit=st.integers(0, 300))
def test_no_single_item_of_a_minimal_part_can_go(data: list[int], limit: int) -> None:
    def shows(part: tuple[int, ...]) -> bool:
        return sum(part) >= limit

    if shows(tuple(data)):
        kept = minimal_part(data, shows)
        assert shows(kept)
        assert not any(shows(kept[:index] + kept[index + 1 :]) for index in range(len(kept)))


def test_the_command_line_shrinks_a_counterexample_and_writes_its_story(tmp_path: Path) -> None:
    kill = {"kind": "kill", "zone": "b", "at_s": 0.2, "for_s": 0.3}
    file = scenario_file(tmp_path, **{**SMALL, "name": "short", "faults": [kill]})
    hunted = json.loads(
        zonelab_here("hunt", str(file), "--runs", "8", "--messages", "40", "--json", cwd=tmp_path).stdout
    )
    group = hunted["groups"]["stuck"]
    path = group["counterexample"]
    assert load_scenario(str(tmp_path / path)).seed == group["seeds"][0]
    done = zonelab_here("shrink", path, "--class", "stuck", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert (told["class"], told["bounded"]) == ("stuck", False)
    assert told["operations"][1] <= OPERATIONS_TARGET < told["operations"][0]
    assert "stuck" in (tmp_path / told["story"]).read_text()
    for file in (path, told["scenario"]):
        replay = zonelab_here("replay", file, "--json", cwd=tmp_path)
        assert (replay.returncode, json.loads(replay.stdout)["same"]) == (1, True)


EARLY, RESURRECTED, LOST, STUCK = map(MessageClass, ("early", "resurrected", "lost", "stuck"))
CRASH = {"kind": "producer_crash", "zone": "c", "at_s": 0.1, "for_s": 0.05}
HARMLESS = {"kind": "lag", "lag": "constant:5ms", "at_s": 0.2, "for_s": 0.2}
SHORT = {"load": {"duration_s": 1.2, "rate_per_s": 12}}
DELAYED = {"load": {"duration_s": 2, "rate_per_s": 20, "delay": "constant:400ms"}, "persistence": "aof-no"}
BREAKING = {
    "clock": ({"zone": "b", "offset_ms": 700, "drift_ppm": 9_000}, EARLY, [HARMLESS], DELAYED),
    "clock_freeze": ({"zone": "b"}, EARLY, [HARMLESS], DELAYED),
    "duplicate": ({"share": 0.5, "after_ms": 450.0}, RESURRECTED, [HARMLESS], DELAYED),
    "power_failure": (
        {"zone": "a", "torn": True},
        LOST,
        [],
        {**DELAYED, "topology": {"zones": ["a"]}, "level": "DC_ONE"},
    ),
    "kill": ({"zone": "b"}, STUCK, [CRASH], SHORT),
    "wipe": ({"zone": "b"}, STUCK, [CRASH], SHORT),
    "zone_outage": ({"zone": "b"}, STUCK, [CRASH], SHORT),
    "pause": ({"zone": "b"}, STUCK, [CRASH], SHORT),
    "memory": ({"zone": "b"}, STUCK, [CRASH], SHORT),
    "disk_full": ({"zone": "b"}, STUCK, [CRASH], {**SHORT, "persistence": "aof-no"}),
    "cut": ({"isolate": "b"}, STUCK, [CRASH], SHORT),
    "clog": ({"zone": "b"}, STUCK, [CRASH], SHORT),
    "swizzle_clog": ({"order": 3}, STUCK, [CRASH], SHORT),
    "coordinator_crash": ({"zone": "b"}, STUCK, [CRASH], SHORT),
    "slow": ({"zone": "b", "factor": 20_000.0}, STUCK, [CRASH], SHORT),
    "loss": ({"share": 0.5}, STUCK, [CRASH], SHORT),
}
LIKE_A_KILL = {"wipe", "zone_outage", "pause", "memory", "disk_full", "clog", "coordinator_crash"}
"""Kinds that have nothing of their own that a shrinker could try."""
MILDER = {"clock", "clock_freeze", "duplicate", "power_failure"}
"""Kinds that break something by a part of what they are given."""
OF_PROGRAMS = {
    "consumer_crash",
    "producer_crash",
    "service_crash",
    "program_pause",
    "command_delay",
    "member_hidden",
    "consumer_slow",
}
RARELY_BREAKING = {*OF_PROGRAMS, "lag", "flap"}
"""Crashes break the queues with planted bugs, above; the others break the sound one in few runs of many."""


def broken_by(kind: str) -> Scenario:
    extent, _, beside, changes = BREAKING[kind]
    times = {"at_s": 0.3, "for_s": 1.2} if kind in MILDER else {"at_s": 0.2, "for_s": 0.8}
    base = small(faults=[*beside, {"kind": kind, **times, **extent}], **changes)
    told = explicit_operations(base.load, zones=base.zones, random=Streams(base.seed).stream)
    return base.model_copy(update={"load": base.load.model_copy(update={"operations": told, "rate_per_s": 0.0})})


@pytest.mark.parametrize("kind", sorted(LIKE_A_KILL))
def test_a_kind_of_fault_breaks_what_the_table_says(kind: str) -> None:
    assert CLASSES[kind].milder is Fault.milder
    assert BREAKING[kind][1] in attempt(broken_by(kind)).violated


@pytest.mark.parametrize("kind", [kind for kind in BREAKING if kind not in LIKE_A_KILL])
def test_what_a_kind_of_fault_does_shrinks_to_that_fault_and_few_operations(kind: str) -> None:
    extent, broken, _, _ = BREAKING[kind]
    before = broken_by(kind)
    shrunk = shrink(before, broken, runs_max=400)
    after = shrunk.scenario
    (left,) = after.faults
    assert left.kind == kind
    assert len(before.load.operations) > OPERATIONS_TARGET >= len(after.load.operations)
    assert not shrunk.bounded
    assert problems(after) == []
    assert attempt(after).run.trace_hash == after.found.trace_hash
    if kind in MILDER:
        changed = left.model_dump(exclude={"at_s", "for_s", "kind"}, exclude_none=True)
        assert left.for_s < 0.7
        assert changed.items() != extent.items() or extent.keys() == {"zone"}


def test_every_kind_of_fault_is_shrunk_but_that_of_programs_which_nobody_simulates() -> None:
    assert {*BREAKING, *RARELY_BREAKING} == {*CLASSES} - {"program_kill"}
