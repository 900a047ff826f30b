"""Goal: what is told of a queue is what the servers hold, with the servers' times, and where zones differ it is said.

Method: a queue of dyno-queues V1 on servers that the test plays.
"""

import asyncio
import time

import pytest

from zonelab.app.monitor.queue_request import QueueRequest
from zonelab.app.monitor.watched_queue import WatchedQueue
from zonelab.engine.ports import ServerError, Unavailable
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.queues.places import LISTED_MAX

SERVER_S = 1_700_000_000
WAITING, LEASES, PAYLOADS = "app.QUEUE.jobs.a", "app.UNACK.jobs.a", "app.MESSAGE.jobs"


class PlayedServer:
    """Sorted sets as ``member: score``, hashes likewise; its clock stands still."""

    def __init__(self, **keys):
        self.keys = {WAITING: {}, LEASES: {}, PAYLOADS: {}, **keys}
        self.time = [b"%d" % SERVER_S, b"250000"]
        self.away = False

    async def execute(self, *commands):
        if self.away:
            raise Unavailable("gone")
        return [self.reply(*command) for command in commands]

    def reply(self, name, key=None, *rest):
        held = self.keys.get(key, {})
        match name:
            case "TIME":
                return self.time
            case "ZCARD" | "HLEN":
                return len(held)
            case "ZCOUNT":
                return sum(score <= float(rest[1]) for score in held.values())
            case "ZRANGE":
                first, last = rest[0], rest[1] + 1 or None
                ordered = [member.encode() for member in sorted(held, key=held.get)][first:last]
                scored = [part for member in ordered for part in (member, b"%d" % held[member.decode()])]
                return scored if "WITHSCORES" in rest else ordered
            case "HKEYS":
                return [member.encode() for member in held]
            case "ZSCORE":
                return b"%d" % held[rest[0]] if rest[0] in held else None
            case "HEXISTS":
                return int(rest[0] in held)
        raise AssertionError(name)


def watched(**servers):
    places = QueueRequest(name="jobs", prefix="app").places(["a"])
    return WatchedQueue("jobs", "dyno", places, servers, {node: node[0] for node in servers})


def told_by(queue):
    async def looked():
        await queue.look(within_s=5, shared_s=0)
        return queue.shown()

    return asyncio.run(looked())


def test_due_delayed_and_leased_are_counted_with_the_time_of_the_server():
    future_ms = (time.time() + 600) * 1e3
    server = PlayedServer(
        **{WAITING: {"m1": 1, "m2": 2, "m3": future_ms}, LEASES: {"m4": future_ms}, PAYLOADS: dict.fromkeys("wxyz", 0)}
    )
    told = told_by(watched(a=server))
    read_ms = SERVER_S * 1_000 + 250
    figures = {"due": 2, "delayed": 1, "in_flight": 1, "dead": None, "payloads": 4}
    assert told["zones"] == [{"zone": "a", "read_ms": read_ms, **figures}]
    by_key = {one["key"]: one for one in told["keys"]}
    assert by_key.keys() == {WAITING, LEASES, PAYLOADS}
    assert (by_key[WAITING]["entries"], by_key[WAITING]["due"], by_key[WAITING]["next_ms"]) == (3, 2, 1)
    assert (by_key[LEASES]["due"], by_key[LEASES]["next_ms"]) == (0, int(future_ms))
    assert all(one["read_ms"] == read_ms for one in told["keys"])


def test_a_zone_of_several_servers_is_their_sum_as_old_as_the_oldest():
    one, other = PlayedServer(**{WAITING: {"m1": 1}}), PlayedServer(**{LEASES: {"m2": 1}})
    other.time = [b"%d" % (SERVER_S - 5), b"0"]
    (zone,) = told_by(watched(a1=one, a2=other))["zones"]
    assert (zone["due"], zone["in_flight"], zone["read_ms"]) == (1, 1, (SERVER_S - 5) * 1_000)
    other.away = True
    assert told_by(watched(a1=one, a2=other))["zones"] == [{"zone": "a", "read_ms": None}]  # no sum of some


def test_a_server_that_does_not_answer_keeps_its_last_figures_and_their_time():
    server = PlayedServer(**{WAITING: {"m1": 1}})
    queue = watched(a=server)
    first = told_by(queue)["zones"]
    server.away, server.time, server.keys = True, [b"%d" % (SERVER_S + 9), b"0"], {}
    assert told_by(queue)["zones"] == first
    unknown = watched(a=server)
    assert told_by(unknown)["zones"] == [{"zone": "a", "read_ms": None}]


def test_rows_are_in_the_order_of_servers_whichever_answers_first():
    one, other = PlayedServer(**{WAITING: {"m1": 1}}), PlayedServer(**{WAITING: {"m1": 1}})
    queue = watched(a=one, b=other)
    one.away = True
    told_by(queue)
    one.away = False
    rows = [(each["key"], each["zone"]) for each in told_by(queue)["keys"] if each["key"] == WAITING]
    assert rows == [(WAITING, "a"), (WAITING, "b")]


def test_ids_that_a_zone_lacks_are_counted_and_those_that_stay_so_apart():
    one, other = PlayedServer(**{WAITING: {"m1": 1, "m2": 2}}), PlayedServer(**{WAITING: {"m1": 1}})
    queue = watched(a=one, b=other)

    def counts(seconds):
        one.time = other.time = [b"%d" % (time.time() + seconds), b"0"]
        ids = told_by(queue)["ids"]
        return ids and (ids["ids"], ids["missing"], ids["for_long"])

    assert counts(1) == (2, 1, 0)
    one.keys[WAITING]["m3"] = 3
    assert counts(2) == (3, 2, 1)
    assert counts(2) == (3, 2, 1)
    other.keys[WAITING].update(m2=2, m3=3)
    assert counts(3) == (3, 0, 0)
    assert counts(-60) is None
    one.keys[WAITING] = {f"m{number}": number for number in range(LISTED_MAX + 1)}
    assert counts(4) is None


def test_a_message_is_found_with_its_due_time_its_lease_and_its_payload():
    one = PlayedServer(**{WAITING: {"m1": 7}, PAYLOADS: {"m1": 0}})
    other, away, wrong = PlayedServer(**{LEASES: {"m1": 9}}), PlayedServer(), PlayedServer()
    away.away, wrong.reply = True, lambda *_: ServerError("WRONGTYPE")
    found = asyncio.run(watched(a=one, b=other, c=away, d=wrong).find("m1"))
    assert [(each["zone"], each.get("holds"), each.get("at_ms"), each.get("error")) for each in found] == [
        ("a", "queue", 7, None),
        ("a", "payload", None, None),
        ("b", "unack", 9, None),
        ("c", None, None, "gone"),
        ("d", None, None, "WRONGTYPE"),
    ]
    assert asyncio.run(watched(a=one).find("m2"))[0]["holds"] is None


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"engine": "gmqq"}, r"--engine: got 'gmqq' \(did you mean gmq\?\); accepted: dyno, "),
        ({"engine": "zset", "mode": "hardened"}, "--mode: got 'hardened'; accepted of zset: default"),
        ({"options": {"buckets": 3}}, r"--set: queue\.buckets: unknown field, got 3; accepted fields: "),
        ({"engine": "gmq", "options": {"buckets": "x"}}, r"--set: queue\.buckets: got 'x'; accepted: an integer"),
        (
            {"engine": "fifo", "mode": "fenced"},
            "got 'fifo', whose partitions the page does not show; accepted: dyno",
        ),
    ],
)
def test_a_queue_that_cannot_be_is_told_with_what_can(asked, told):
    with pytest.raises(NotAccepted, match=told):
        QueueRequest(name="jobs", **asked).places(["a"])
