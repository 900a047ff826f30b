"""Goal: no command of hardened mode keeps a server busy for more than 500 messages, however many a caller has at once.

Method: 1,203 messages go their way in single calls, and all commands are looked at; a vote that fails spoils one step.
"""

import asyncio

import pytest
from support.engine.hardened import KEYS, commands_of

from zonelab.engine.dyno.hardened.batch_decisions import decided_each
from zonelab.engine.dyno.hardened.records.steps import STEP_MAX, HardenedLease, in_steps
from zonelab.engine.dyno.v2 import BatchAckFailure
from zonelab.engine.message import Message
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable

MANY = 1_203
IDS = [f"m{number:04d}" for number in range(MANY)]


def scripts(sent):
    """How many messages each EVAL names, and all the ids that it names."""
    evals = [command for _, commands in sent for command in commands if command[0] == "EVAL"]
    named = [[word for word in command[2:] if word in KNOWN] for command in evals]
    assert all(len(ids) <= STEP_MAX for ids in named)
    return [len(ids) for ids in named]


KNOWN = frozenset(IDS)


async def test_many_messages_go_their_way_in_steps_of_500(lab):
    queue = lab.queue(lease_ms=60_000)
    sent = commands_of(queue)
    receipts = await queue.push([Message(id=one, payload="work") for one in IDS])
    assert [receipt.id for receipt in receipts] == IDS
    deliveries = await queue.pop(2 * MANY)
    assert sorted(delivery.message.id for delivery in deliveries) == IDS
    assert scripts(sent) == [500, 500, 203] * 2
    sent.clear()
    await queue._beat()
    assert queue.counters.extended == MANY
    assert await queue.ack_all(deliveries) == [True] * MANY
    assert scripts(sent) == [500, 500, 203] * 2
    assert await queue.size() == 0
    assert await lab.ask("a", "ZCARD", KEYS.tombstones) == MANY


async def test_of_many_messages_none_is_pushed_if_one_cannot_be(lab):
    queue = lab.queue()
    with pytest.raises(ValueError, match="surrogates"):
        await queue.push([Message(id=one, payload="work") for one in IDS] + [Message(id="x", payload="\ud800")])
    assert await queue.size() == 0


async def test_many_messages_are_removed_in_steps_of_500(lab):
    queue = lab.queue()
    await queue.push([Message(id=one, payload="work") for one in IDS])
    sent = commands_of(queue)
    assert await queue.remove_all(IDS) == [True] * MANY
    assert scripts(sent) == [500, 500, 203]
    assert await queue.remove_all([]) == []
    assert await queue.size() == 0


@pytest.mark.parametrize("error", [Unavailable("no zone"), ServerError("OOM")])
async def test_a_removal_that_fails_after_its_first_step_is_in_doubt(lab, error, monkeypatch):
    """``Unavailable`` would say that nothing was applied."""
    queue = lab.queue()
    await queue.push([Message(id=one, payload="work") for one in IDS])
    remove, calls, plan = queue._steps.remove, [], {}

    async def failing(ids, *, now_ms):
        calls.append(ids)
        if len(calls) == plan["fails_at"]:
            raise error
        return await remove(ids, now_ms=now_ms)

    monkeypatch.setattr(queue._steps, "remove", failing)
    for plan["fails_at"], raised in ((1, type(error)), (3, Indeterminate)):
        calls.clear()
        with pytest.raises(raised, match=str(error)):
            await queue.remove_all(IDS)
    assert await queue.size() == MANY - 2 * STEP_MAX


@pytest.mark.parametrize("count", [STEP_MAX, STEP_MAX + 1])
async def test_a_pop_takes_as_many_as_it_was_asked_for(lab, count):
    queue = lab.queue(lease_ms=60_000)
    await queue.push([Message(id=one, payload="work") for one in IDS])
    sent = commands_of(queue)
    assert len(await queue.pop(count)) == count
    assert scripts(sent) == [STEP_MAX, 1][: count - STEP_MAX + 1]


def test_what_a_vote_cannot_decide_is_asked_one_by_one_in_its_own_step_only():
    asked = []

    async def decide(held):
        asked.append(len(held))
        if any(one.id == "m0600" for one in held):
            raise Indeterminate("zones differ")
        return [True] * len(held)

    held = [HardenedLease(one, "t", 1_000) for one in IDS]
    answers = asyncio.run(decided_each(decide, held))
    assert [one.id for one, answer in zip(held, answers, strict=True) if answer is not True] == ["m0600"]
    assert asked == [500, 500, *[1] * 500, 203]


def test_steps_are_all_of_it_in_order():
    assert [list(part) for part in in_steps(IDS)] == [IDS[:500], IDS[500:1000], IDS[1000:]]
    assert list(in_steps([])) == []


@pytest.mark.parametrize("first", [Unavailable("no zone"), ServerError("OOM")])
async def test_an_ack_of_which_one_step_is_in_doubt_is_in_doubt(lab, first, monkeypatch):
    """The class tells the fate of all ids that failed: ``Unavailable`` would say that nothing of it was applied."""
    queue = lab.queue(lease_ms=60_000)
    await queue.push([Message(id=one, payload="work") for one in IDS])
    deliveries = await queue.pop(MANY)

    async def failing(held, *, now_ms):
        raise Indeterminate("no answer") if any(one.id == IDS[-1] for one in held) else first

    monkeypatch.setattr(queue._steps, "ack", failing)
    with pytest.raises(BatchAckFailure) as raised:
        await queue.ack_all(deliveries)
    assert isinstance(raised.value, Indeterminate)
    assert sorted(raised.value.failed_ids) == IDS


async def test_many_dead_letters_are_read_in_steps_of_500(lab):
    queue = lab.queue()
    await queue.push([Message(id=one, payload="work") for one in IDS])
    await queue._steps.set_aside(IDS, now_ms=0)
    sent = commands_of(queue)
    assert [letter.id for letter in await queue.dead_letters(MANY)] == IDS
    assert [len(command) - 2 for _, (command,) in sent if command[0] == "HMGET"] == [500, 500, 203]


async def test_a_long_page_is_compared_in_steps_of_500(lab):
    queue = lab.queue(page=2 * MANY)
    await queue.push([Message(id=one, payload="work") for one in IDS])
    await lab.sleep(20)
    await lab.ask("b", "DEL", KEYS.records, KEYS.messages, KEYS.ready("a"), KEYS.queue_of("a"))
    sent = commands_of(queue)
    await queue.compare()
    assert scripts(sent) == [500, 500, 203]
    await lab.sleep(20)
    assert await lab.ask("b", "ZCARD", KEYS.queue_of("a")) == MANY
