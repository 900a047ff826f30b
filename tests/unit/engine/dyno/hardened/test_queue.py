"""Goal: each mechanism of hardened mode does what it promises, and nothing does without it. Method: three simulated
zones, one situation a test, each mechanism on and off.
"""

import pytest
from support.engine.dyno_bench import ids
from support.engine.hardened import KEYS, ZONES, commands_of, leased, message
from support.engine.periodic import BrokenTask

from zonelab.cluster.links.link import Cut
from zonelab.cluster.zone import Restart
from zonelab.engine.dyno.hardened import Hardening
from zonelab.engine.dyno.message_json import encode
from zonelab.engine.dyno.scores import due_score
from zonelab.engine.ports import PortError


async def test_a_message_goes_its_way_and_leaves_a_tombstone_in_every_zone(lab):
    queue = lab.queue()
    (receipt,) = await queue.push([message(priority=7, timeout_ms=50)])
    assert await queue.pop(1) == []
    await lab.sleep(60)
    (delivery,) = await queue.pop(1)
    assert (delivery.message.payload, delivery.message.priority, delivery.shard) == ("work", 7, "a")
    assert receipt.due_ms <= delivery.lease_start_ms
    assert await queue.ack(delivery) is True
    await lab.sleep(20)
    assert await lab.statuses("m") == ["d", "d", "d"]
    assert await queue.get("m") is None
    assert [await lab.ask(zone, "ZCARD", KEYS.tombstones) for zone in ZONES] == [1, 1, 1]


async def test_a_batch_takes_one_command_a_step(lab):
    queue = lab.queue()
    sent = commands_of(queue)
    await queue.push([message(f"m{number}") for number in range(30)])
    deliveries = await queue.pop(30)
    assert await queue.ack_all(deliveries) == [True] * 30
    assert [(name, [command[0] for command in commands]) for name, commands in sent] == [
        ("_level", ["EVAL"]),
        ("_local", ["ZRANGE", "ZRANGEBYSCORE", "ZRANGEBYSCORE"]),
        ("_local", ["HMGET", "HMGET"]),
        ("_deciding", ["EVAL"]),
        ("_deciding", ["EVAL"]),
    ]


@pytest.mark.parametrize(("without", "pushed_again"), [((), False), ((Hardening.IDEMPOTENT_PUSH,), True)])
async def test_a_repeated_push_changes_nothing_in_whatever_shard_and_state_the_message_is(lab, without, pushed_again):
    queue = lab.queue(without=without)
    (first,) = await queue.push([message(shard="a")])
    (again,) = await queue.push([message(shard="b", timeout_ms=5000)])
    assert (again == first) is not pushed_again
    if pushed_again:
        return
    (delivery,) = await queue.pop(1)
    assert await queue.push([message(shard="c")]) == [first]
    assert await lab.queue("c").pop(1) == []
    assert await queue.ack(delivery) is True
    assert await queue.push([message(shard="b")]) == [first]
    assert [await lab.queue(zone).pop(1) for zone in ZONES] == [[], [], []]


@pytest.mark.parametrize(
    ("without", "order"),
    [((), ["urgent", "late", "early"]), ((Hardening.PRIORITY_ORDER,), ["early", "late", "urgent"])],
)
async def test_priority_holds_beyond_one_millisecond(lab, without, order):
    queue = lab.queue(without=without)
    await queue.push([message("early", priority=9)])
    await lab.sleep(30)
    await queue.push([message("late", priority=5)])
    await queue.push([message("urgent", priority=1, timeout_ms=30)])
    await lab.sleep(40)
    assert ids([delivery for _ in range(3) for delivery in await queue.pop(1)]) == order


@pytest.mark.parametrize(("without", "ends"), [((), True), ((Hardening.DEAD_LETTER,), False)])
async def test_a_message_is_set_aside_after_so_many_deliveries(lab, without, ends):
    queue = lab.queue(deliveries_max=2, without=without)
    await queue.push([message()])
    for _ in range(2):
        assert ids(await queue.pop(1)) == ["m"]
        await lab.sleep(230)
    assert (await queue.pop(1) == []) is ends
    assert queue.counters.set_aside == ends
    assert ids_of(await queue.dead_letters(5)) == (["m"] if ends else [])
    assert (await queue.get("m")).payload == "work"
    if ends:
        assert await lab.statuses("m") == ["x", "x", "x"]
        assert await queue.remove_all(["m"]) == [True]
        assert await queue.dead_letters(5) == []


def ids_of(messages):
    return [one.id for one in messages]


@pytest.mark.parametrize(("without", "served"), [((), True), ((Hardening.SHARD_TAKEOVER,), False)])
async def test_a_shard_without_consumers_is_taken_over_and_handed_back(lab, without, served):
    producer = lab.queue("b")
    async with lab.queue("a", without=without) as helper:
        await producer.push([message("m1", shard="b")])
        await lab.sleep(800)
        assert ids(await helper.pop(5)) == (["m1"] if served else [])
        async with lab.queue("b"):
            await lab.sleep(500)
            await producer.push([message("m2", shard="b")])
            assert await helper.pop(5) == []
        assert (helper.counters.taken_over > 0) is served


@pytest.mark.parametrize(("without", "listed"), [((), True), ((Hardening.ORPHAN_SWEEPER,), False)])
async def test_an_orphaned_payload_is_listed_after_its_grace(lab, without, listed):
    for zone in ZONES:  # a client of V1 died between its two writes
        await lab.ask(zone, "HSET", KEYS.messages, "m", encode(message()))
    async with lab.queue(without=without) as queue:
        await lab.sleep(90)
        assert await queue.pop(1) == []
        await lab.sleep(700)
        assert ids(await queue.pop(1)) == (["m"] if listed else [])
        assert queue.counters.adopted == listed


async def test_an_orphan_with_a_tombstone_is_deleted_and_one_that_may_have_one_is_left(lab):
    queue = lab.queue()
    delivery = await leased(queue)
    await queue.ack(delivery)
    await lab.sleep(20)
    await lab.ask("a", "HSET", KEYS.messages, "m", encode(message()))
    await lab.ask("a", "HDEL", KEYS.records, "m")
    for zone in ("b", "c"):
        lab.cluster.links["a", zone].cut(Cut.DROP)
    async with lab.queue() as keeper:
        await lab.sleep(900)
        assert await lab.ask("a", "HEXISTS", KEYS.messages, "m") == 1
        for zone in ("b", "c"):
            lab.cluster.links["a", zone].mend()
        await lab.sleep(2500)
        assert await lab.ask("a", "HEXISTS", KEYS.messages, "m") == 0
        assert await keeper.pop(1) == []


async def test_what_v1_listed_is_served_and_its_ghosts_are_dropped(lab):
    queue = lab.queue()
    now_ms = lab.cluster.clock("a").now_ms()
    for zone in ZONES:
        await lab.ask(zone, "HSET", KEYS.messages, "m", encode(message(priority=3)))
        await lab.ask(zone, "ZADD", KEYS.queue_of("a"), due_score(now_ms, priority=3), "m")
        await lab.ask(zone, "ZADD", KEYS.queue_of("a"), now_ms, "ghost")
    (delivery,) = await queue.pop(5)
    assert (delivery.message.id, delivery.message.priority) == ("m", 3)
    assert await lab.ask("a", "ZCARD", KEYS.queue_of("a")) == 0


@pytest.mark.parametrize("restart", [Restart.KEEP, Restart.WIPE, Restart.WARM])
async def test_a_zone_that_was_away_gets_what_it_missed_and_delivers_nothing_twice(lab, restart):
    zone = lab.cluster.zones["a"]
    async with lab.queue("a") as own, lab.queue("b") as other:
        await own.push([message("before")])
        (before,) = await own.pop(1)
        await zone.kill()
        await other.push([message("meanwhile", shard="a")])
        assert await own.ack(before) is True
        await zone.restart(restart, warm_from=lab.cluster.zones["b"] if restart is Restart.WARM else None)
        deliveries = await own.pop(5, wait_ms=3000)
        assert ids(deliveries) == ["meanwhile"]
        assert await own.ack_all(deliveries) == [True]
        await lab.sleep(1500)
        assert await own.pop(5) == []
        assert await lab.statuses("meanwhile") == ["d", "d", "d"]


async def test_a_stale_zone_alone_grants_nothing(lab):
    """Two zones have buried the message; the third, which lists it still, is mended at once."""
    queue = lab.queue("a")
    delivery = await leased(queue)
    stale = await lab.record("a", "m")
    assert await queue.ack(delivery) is True
    await lab.sleep(20)
    await lab.ask("a", "HSET", KEYS.records, "m", stale.replace("l ", "w ", 1))
    await lab.ask("a", "ZADD", KEYS.ready("a"), 1, "m")
    await lab.ask("a", "HSET", KEYS.messages, "m", encode(message()))
    await lab.ask("a", "ZREM", KEYS.tombstones, "m")
    await lab.sleep(250)
    assert await queue.pop(1) == []
    await lab.sleep(20)
    assert await lab.statuses("m") == ["d", "d", "d"]
    assert await lab.ask("a", "HEXISTS", KEYS.messages, "m") == 0


async def test_an_ack_that_one_zone_took_and_two_refused_is_undone(lab):
    first, second = lab.queue("a"), lab.queue("b")
    await first.push([message()])
    await first.pop(1)
    old = await lab.record("a", "m")
    await lab.sleep(230)
    async with lab.queue("b"):
        (delivery,) = await second._popper._take_of("a", 1)
        await lab.sleep(20)
        await lab.ask("a", "HSET", KEYS.records, "m", old.replace("l ", "d ", 1))
        await lab.ask("a", "HDEL", KEYS.messages, "m")
        await lab.ask("a", "ZREM", KEYS.unack("a"), "m")
        await second._popper._replica_repair.repair(["m"])
        await lab.sleep(20)
        assert await lab.statuses("m") == ["l", "l", "l"]
        assert await lab.ask("a", "HEXISTS", KEYS.messages, "m") == 1
        assert await second.ack(delivery) is True


async def test_late_writes_of_a_cut_link_change_nothing(lab):
    """A push, a lease and an ack that a cut held back arrive when the message is long done."""
    link = lab.cluster.links["a", "c"]
    queue = lab.queue("a")
    link.cut(Cut.HOLD)
    lost = await leased(queue)
    await lab.sleep(230)
    (delivery,) = await queue.pop(1)
    assert await queue.ack(delivery) is True
    assert await queue.ack(lost) is False
    other = lab.queue("b")
    await other.remove_all(["m"])  # its tombstone reaches zone c before everything else
    await lab.sleep(50)
    link.mend()
    await lab.sleep(300)
    assert await lab.statuses("m") == ["d", "d", "d"]
    assert [await lab.ask(zone, "HEXISTS", KEYS.messages, "m") for zone in ZONES] == [0, 0, 0]


async def test_tombstones_are_forgotten_after_their_retention(lab):
    async with lab.queue(retention_ms=300) as queue:
        delivery = await leased(queue)
        await queue.ack(delivery)
        await lab.sleep(1000)
        assert await lab.statuses("m") == ["-", "-", "-"]
        assert await lab.ask("a", "ZCARD", KEYS.tombstones) == 0


async def test_without_a_majority_nothing_is_promised(lab):
    queue = lab.queue()
    await queue.push([message()])
    for zone in ("b", "c"):
        await lab.cluster.zones[zone].kill()
    with pytest.raises(PortError):
        await queue.pop(1)
    with pytest.raises(PortError) as failure:
        await queue.push([message("n")])
    assert failure.value.failed_ids == ("n",)


async def test_a_defect_of_one_periodic_work_does_not_keep_the_others_running(lab):
    queue = lab.queue()
    queue.server.start()
    queue.heartbeat.start()
    queue.keeper._task = BrokenTask()
    await lab.sleep(100)
    with pytest.raises(ZeroDivisionError, match="a defect"):
        await queue.close()
    runs = queue.server.runs, queue.heartbeat.runs
    await lab.sleep(1000)
    assert (queue.server.runs, queue.heartbeat.runs) == runs
