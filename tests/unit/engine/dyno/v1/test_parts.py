"""Keys, scores, sharding strategies and settings of dyno-queues follow the original.

Method: values worked out by hand from the published source and its tests.
"""

from itertools import pairwise, takewhile
from pathlib import Path

import pytest

import zonelab.engine.dyno
from zonelab.engine.dyno import DynoQueue, DynoSettings, IdHash, LocalOnly, QueueKeys, RoundRobin
from zonelab.engine.dyno.scores import due_score, eligible_until
from zonelab.engine.dyno.v1.scripts import ORIGINAL_SCRIPTS, SCRIPTS
from zonelab.engine.message import Message

ONE = Message(id="1")
LUA = Path(zonelab.engine.dyno.__file__).parent / "v1" / "lua"
SCRIPT_FILES = sorted(LUA.glob("**/*.lua"))


def test_keys_have_the_names_of_the_original():
    keys = QueueKeys(prefix="dyno", queue="jobs")
    assert (keys.messages, keys.queue_of("1d"), keys.unack("1d")) == (
        "dyno.MESSAGE.jobs",
        "dyno.QUEUE.jobs.1d",
        "dyno.UNACK.jobs.1d",
    )


def test_scores_of_one_millisecond_keep_all_hundred_priorities_apart_and_in_order():
    scores = [due_score(1_620_078_645_956, priority=priority) for priority in range(100)]
    assert scores[0] == 1_620_078_645_956.0
    assert repr(scores[1]) == "1620078645956.01"
    assert all(before < after for before, after in pairwise(scores))
    assert scores[99] < due_score(1_620_078_645_957, priority=0)


def test_every_priority_of_the_current_millisecond_is_eligible():
    assert eligible_until(1000) == 1001
    assert due_score(1000, priority=99) <= eligible_until(1000)


def test_round_robin_begins_with_the_second_shard():
    strategy = RoundRobin()
    assert [strategy.next_shard("abc", ONE) for _ in range(7)] == ["b", "c", "a", "b", "c", "a", "b"]


def test_round_robin_over_one_shard_stays_there():
    strategy = RoundRobin()
    assert [strategy.next_shard("a", ONE) for _ in range(3)] == ["a", "a", "a"]


def test_the_id_hash_gives_one_id_one_shard():
    strategy = IdHash()
    assert [strategy.next_shard(["k1", "k2", "k3"], ONE) for _ in range(3)] == ["k2", "k2", "k2"]
    assert strategy.next_shard(["k1", "k2", "k3"], Message(id="polygenelubricants")) == "k3"


def test_local_only_stays_in_its_shard_and_refuses_a_queue_without_it():
    assert LocalOnly("b").next_shard("abc", ONE) == "b"
    with pytest.raises(ValueError, match="'d' is none of the queue's shards: a, b, c"):
        LocalOnly("d").next_shard("abc", ONE)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"prefix": ""}, "prefix must be a non-empty string, got ''"),
        ({"shards": ()}, "shards must be one or more distinct non-empty names, got ()"),
        ({"shards": ("a", "a")}, "shards must be one or more distinct non-empty names, got ('a', 'a')"),
        ({"shards": ("a", "")}, "shards must be one or more distinct non-empty names, got ('a', '')"),
        ({"shard": "d"}, "shard must be one of a, b, got 'd'"),
        ({"unack_ms": 0}, "unack_ms must be at least 1, got 0"),
        ({"unack_interval_ms": -1}, "unack_interval_ms must be at least 1, got -1"),
        ({"poll_interval_ms": 0}, "poll_interval_ms must be at least 1, got 0"),
        ({"unack_batch": 0}, "unack_batch must be at least 1, got 0"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value(change, error):
    with pytest.raises(ValueError) as raised:  # noqa: PT011 (the text is compared whole)
        DynoSettings(**{"prefix": "p", "shards": ("a", "b"), "shard": "a", **change})
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("change", "poll_ms"),
    [({}, 50), ({"compat": True}, 200), ({"poll_interval_ms": 7}, 7), ({"poll_interval_ms": 7, "compat": True}, 7)],
)
def test_a_waiting_pop_polls_every_50_ms_and_in_compat_every_200(change, poll_ms):
    assert DynoSettings(prefix="p", shards=("a",), shard="a", **change).pop_poll_ms == poll_ms


@pytest.mark.parametrize("path", SCRIPT_FILES, ids=lambda path: path.relative_to(LUA).as_posix())
def test_a_script_begins_with_its_keys_arguments_answer_and_atomicity(path):
    opening = "".join(takewhile(lambda line: line.startswith("-- "), path.read_text(encoding="utf-8").splitlines(True)))
    assert [
        word for word in ("-- KEYS[1] ", "-- ARGV", "-- Returns ", "-- Atomic on one server") if word not in opening
    ] == []
    assert ("Defect" in opening) is (path.parent != LUA)


def test_every_script_is_loaded_and_compat_has_the_originals_where_there_is_one():
    own = {path.stem: path.read_text(encoding="utf-8") for path in SCRIPT_FILES if path.parent == LUA}
    original = {path.stem: path.read_text(encoding="utf-8") for path in SCRIPT_FILES if path.parent != LUA}
    assert own == SCRIPTS
    assert own | original == ORIGINAL_SCRIPTS
    assert len(own) == 6


def test_a_queue_needs_a_name():
    settings = DynoSettings(prefix="p", shards=("a",), shard="a")
    with pytest.raises(ValueError, match="name must be a non-empty string, got ''"):
        DynoQueue("", runtime=None, clock=None, quorum=None, local=None, settings=settings)
