"""Any sequence of operations, crashes included, leaves the real queue where the model says and loses nothing.

Method: a Hypothesis state machine drives two instances of the queue on one real server and a model in step, compares
every answer and, after every step, the whole of what Redis holds. A crash breaks an operation at a drawn command,
before or after it takes effect, and starts the instance anew; whatever it left, every message that is owed must still
be listed with its payload. Then bugs are planted in the queue, and the same machine must find each of them.
"""

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from support.cluster.servers import started_lab
from support.engine.dyno_machine import DynoMachine

import zonelab.engine.dyno.v1.lease
import zonelab.engine.dyno.v1.peek
import zonelab.engine.dyno.v1.pop
import zonelab.engine.dyno.v1.queue
import zonelab.engine.dyno.v1.unack
from zonelab.engine.dyno.v1.scripts import ORIGINAL_SCRIPTS, SCRIPTS
from zonelab.engine.dyno.v1.settings import DynoSettings
from zonelab.engine.message import Message
from zonelab.engine.ports import ServerError

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def lab():
    with started_lab("a") as lab:
        yield lab


def machine(lab, *, compat, model_compat=None):
    fields = {"lab": lab, "compat": compat, "model_compat": compat if model_compat is None else model_compat}
    return type("Machine", (DynoMachine,), fields)


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
def test_the_queue_does_what_the_model_does(lab, compat):
    run_state_machine_as_test(
        machine(lab, compat=compat), settings=settings(max_examples=150, stateful_step_count=40, deadline=None)
    )


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
def test_of_equals_in_two_shards_one_is_leased_by_pattern_as_in_the_model(lab, compat):
    state = machine(lab, compat=compat)()
    for message, shard in ((Message(id="x", timeout_ms=-50), "a"), (Message(id="z", payload="p"), "a")):
        state.push(message, through=shard, into=shard)
    state.push(Message(id="z", payload="p"), through="b", into="b")
    state.pop_by_pattern(shard="a", payload="p", own=False)
    state.redis_holds_what_the_model_holds()
    assert ("z" in state.model.unacked["b"]) is compat


PLANTED = {
    "the unsafe pop serves the own shard only": (
        zonelab.engine.dyno.v1.pop,
        "own_first",
        lambda context: (context.settings.shard,),
    ),
    "the unsafe pop takes the own shard last": (
        zonelab.engine.dyno.v1.pop,
        "own_first",
        lambda context: tuple(sorted(context.settings.shards, key=lambda shard: shard == context.settings.shard)),
    ),
    "a pop by id asks nothing of the due time": (
        zonelab.engine.dyno.v1.lease,
        "_eligible",
        lambda context, queue, message_id: context.local.zscore(queue, message_id),
    ),
    "the unsafe peek forgets the order": (zonelab.engine.dyno.v1.peek, "sorted", list),
    "priority is inverted": (
        zonelab.engine.dyno.v1.queue,
        "due_score",
        lambda due_ms, *, priority: due_ms + (99 - priority) / 100,
    ),
    "messages are eligible a second early": (
        DynoSettings,
        "due_until",
        lambda _, now_ms: now_ms + 1000,
    ),
    "nothing is eligible in its own millisecond": (
        DynoSettings,
        "due_until",
        lambda _, now_ms: now_ms - 1,
    ),
}

FIND = settings(
    max_examples=1000,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    print_blob=False,
)


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(lab, monkeypatch, bug):
    monkeypatch.setattr(*PLANTED[bug], raising=PLANTED[bug][1] != "sorted")
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine(lab, compat=False), settings=FIND)


PLANTED_IN_SCRIPTS = {
    "a bulk pop leaves the message waiting": ("bulk_pop", False, "redis.call('ZREM', waiting, id)", ""),
    "a pop by pattern takes the last match": ("pop_by_pattern", False, "score >= best_score", "score <= best_score"),
    "a pop by pattern leaves the message waiting": (
        "pop_by_pattern",
        False,
        "redis.call('ZREM', KEYS[best_key], best_id)",
        "",
    ),
    "a search by pattern ignores the pattern": ("find_by_pattern", False, "string.find(payload, ARGV[1])", "true"),
    "a search by pattern ignores the shard": ("find_by_pattern", False, "not KEYS[2]", "true"),
    "an atomic remove forgets a set": ("atomic_remove", False, "for key = 2, #KEYS do", "for key = 3, #KEYS do"),
    "an atomic remove leaves the payload": ("atomic_remove", False, "HDEL", "HEXISTS"),
    "an atomic requeue drops what has a payload": ("process_unacks", False, "if payload then", "if not payload then"),
    "the original's atomic requeue drops the lease only": (
        "process_unacks",
        True,
        "redis.call('ZADD'",
        "tostring('ZADD'",
    ),
    "what has a payload is stale": ("find_stale", False, "== 0 then", "== 1 then"),
}
"""Script, whether it is the original's, and what is written in it instead of what.

Bugs that only a race or a rare state shows are in the mutation suite.
"""


@pytest.mark.parametrize("bug", PLANTED_IN_SCRIPTS)
def test_a_bug_planted_in_a_script_is_found(lab, monkeypatch, bug):
    name, compat, text, instead = PLANTED_IN_SCRIPTS[bug]
    scripts = ORIGINAL_SCRIPTS if compat else SCRIPTS
    assert scripts[name].count(text) == 1
    monkeypatch.setitem(scripts, name, scripts[name].replace(text, instead))
    with pytest.raises((AssertionError, ServerError)):
        run_state_machine_as_test(machine(lab, compat=compat), settings=FIND)


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
def test_the_machine_tells_the_default_from_the_original(lab, compat):
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine(lab, compat=compat, model_compat=not compat), settings=FIND)
