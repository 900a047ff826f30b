"""Goal: clients of a gateway that keeps versions, or repairs reads, are answered as without, in RESP2 and RESP3.

Method: the same commands through redis-py to gateways on three real servers with and without each option.
"""

import pytest
import redis
from support.programs import until

from zonelab.cluster.zone import Restart

pytestmark = pytest.mark.real

OPTIONS = {
    "votes by version": {"votes": "version"},
    "versions for anti-entropy only": {"anti_entropy": {"interval_ms": 50}},
    "read repair": {"read_repair": True},
    "hinted handoff": {"hinted_handoff": {"queue": 1_000}},
}

COMMANDS = (
    "SET k v", "GET k", "GET none", "SET e 1", "HSET h f 1 g 2", "HGET h f", "HGET h none", "HMSET h i 3",
    "SADD s m n", "SISMEMBER s m", "SISMEMBER s none", "SREM s n", "ZADD z 1.5 m inf n", "ZSCORE z m", "ZSCORE z n",
    "ZSCORE z none", "ZREM z m", "HGETALL h", "SMEMBERS s", "MSET x 1 y 2", "MGET x y none", "DEL k", "GET k", "INCR n",
    "LPUSH l a b", "LRANGE l 0 -1", "EXISTS x y",
)  # fmt: skip


def answers(client):
    found = [client.execute_command(*line.split()) for line in COMMANDS]
    pipeline = client.pipeline(transaction=False)
    for line in COMMANDS:
        pipeline.execute_command(*line.split())
    found += pipeline.execute()
    transaction = client.pipeline(transaction=True)
    transaction.set("t", 1).get("t").zadd("tz", {"m": 1}).zscore("tz", "m")
    found += transaction.execute()
    for line in ("SADD x m", "GET h", "ZSCORE s m"):
        with pytest.raises(redis.ResponseError, match="WRONGTYPE") as wrong:
            client.execute_command(*line.split())
        found.append(str(wrong.value))
    return found


LISTS = ("DBSIZE", "KEYS *", "KEYS .*", "SCAN 0 COUNT 10000", "SCAN 0 MATCH .* COUNT 10000", "SCAN x", "KEYS")


def listed(client):
    """What lists of keys tell, and which keys are chosen at random."""
    for line in LISTS:
        try:
            found = client.execute_command(*line.split())
        except redis.ResponseError as error:
            found = str(error)
        yield (
            [found[0], sorted(found[1])]
            if isinstance(found, tuple)
            else sorted(found)
            if isinstance(found, list)
            else found
        )
    yield {client.randomkey() for _ in range(100)}


def told(gateway, ask):
    """What ``ask`` hears, by protocol."""
    found = {}
    for protocol in (2, 3):
        with gateway.client(protocol=protocol) as client:
            client.flushall()
            found[protocol] = ask(client)
    return found


@pytest.mark.parametrize("name", ["votes by version", "versions for anti-entropy only"])
@pytest.mark.parametrize("keys", [0, 1, 4])
def test_records_of_versions_show_in_no_list_of_keys(cluster, quorum, name, keys):
    def ask(client):
        client.mset({f"k{number}": number for number in range(4)})
        client.delete("k9", *(f"k{number}" for number in range(keys, 4)))
        return list(listed(client))

    plain = told(quorum, ask)  # beforehand: anti-entropy writes records into the same servers at any time
    with cluster.gateway("a", replication=OPTIONS[name]) as gateway:
        assert told(gateway, ask) == plain


@pytest.mark.parametrize("name", list(OPTIONS))
def test_a_client_cannot_tell_that_an_option_is_on(cluster, quorum, name):
    plain = told(quorum, answers)
    with cluster.gateway("a", replication=OPTIONS[name]) as gateway:
        assert told(gateway, answers) == plain


def add_if_unchanged(client, number):
    with client.pipeline(transaction=True) as pipeline:
        pipeline.watch("k")
        pipeline.multi()
        pipeline.set("k", number)
        return pipeline.execute()


def test_5000_hints_of_4_kb_reach_a_zone_that_was_away_and_no_watched_transaction_overtakes_them(cluster):
    limits = {"zone_backlog_bytes": 32 * 1024 * 1024}
    with (
        cluster.gateway("a", replication={"hinted_handoff": {"queue": 10_000}}, limits=limits) as gateway,
        gateway.client() as client,
        cluster.direct("b") as direct,
    ):
        client.flushall()
        client.set("k", "before")
        cluster.run(cluster.zone("b").kill())
        until(lambda: add_if_unchanged(client, "without b") == [True])
        for _ in range(50):
            pipeline = client.pipeline(transaction=False)
            for _ in range(100):
                pipeline.rpush("list", "x" * 4096)
            assert pipeline.execute()
            client.set("k", "hint")
        cluster.run(cluster.zone("b").restart(Restart.KEEP))
        until(lambda: add_if_unchanged(client, "newest") == [True] and direct_value(direct) == b"newest")
        assert direct.llen("list") == client.llen("list") == 5_000
        assert direct.get("k") == b"newest"


def direct_value(direct):
    try:
        return direct.get("k")
    except redis.ConnectionError:
        return None
