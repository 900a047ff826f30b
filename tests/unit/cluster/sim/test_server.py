"""Goal: a simulated server takes its time, keeps order and breaks like a real one. Method: clients in virtual time."""

import pytest

from zonelab.cluster.sim.server import ServerSettings
from zonelab.cluster.zone import Persistence, Restart

from .conftest import on_site

SET, GET = ("SET", "k", "v"), ("GET", "k")
MS = 1_000_000


@on_site(request_ns=100, service_ns=10, reply_ns=1000)
async def test_a_reply_comes_after_the_way_there_the_work_and_the_way_back(lab):
    client = await lab.connected()
    begin = lab.runtime.now_ns()
    client.send(SET, GET)
    await lab.runtime.sleep(MS)
    assert client.events == [(begin + 100 + 2 * 10 + 1000, [b"OK", b"v"])]


@on_site(request_ns=100, service_ns=10, reply_ns=1000)
async def test_connections_are_served_in_the_order_of_arrival_by_one_thread(lab):
    one, other = await lab.connected(), await lab.connected()
    begin = lab.runtime.now_ns()
    one.send(("INCR", "n"), ("INCR", "n"))
    other.send(("INCR", "n"))
    one.send(("INCR", "n"))
    await lab.runtime.sleep(MS)
    assert one.events == [(begin + 1120, [1, 2]), (begin + 1140, [4])]
    assert other.events == [(begin + 1130, [3])]


@on_site(request_ns=0, service_ns=0, reply_ns=0)
async def test_without_any_cost_the_answer_comes_within_the_call(lab):
    client = await lab.connected()
    client.send(SET)
    assert client.answers == [[b"OK"]]


@on_site(request_ns=0, service_ns=10, reply_ns=0)
async def test_a_slow_server_takes_longer_for_each_command(lab):
    client = await lab.connected()
    await lab.zone.slow_down(50)
    begin = lab.runtime.now_ns()
    client.send(SET, SET)
    await lab.runtime.sleep(MS)
    assert client.events == [(begin + 1000, [b"OK", b"OK"])]


@on_site(request_ns=5, service_ns=0, reply_ns=7)
async def test_replies_never_overtake_each_other_on_a_connection(lab):
    client = await lab.connected()
    for _ in range(10):
        client.send(("INCR", "n"))
    await lab.runtime.sleep(MS)
    assert client.answers == [[number] for number in range(1, 11)]


@on_site()
async def test_a_dead_server_refuses_connections_and_a_paused_one_accepts_them(lab):
    client = await lab.connected()
    await lab.zone.pause()
    client.open()
    await lab.runtime.sleep(MS)
    assert client.answers == ["open"]
    await lab.zone.kill()
    await lab.runtime.sleep(MS)
    client.open()
    await lab.runtime.sleep(MS)
    assert client.answers == ["open", "closed", "closed"]


@on_site(request_ns=100, service_ns=1000, reply_ns=100)
async def test_a_paused_server_answers_nothing_and_everything_when_it_goes_on(lab):
    client = await lab.connected()
    client.send(SET, SET, GET)
    await lab.runtime.sleep(600)  # half of the first command is done
    await lab.zone.pause()
    client.send(GET)
    await lab.runtime.sleep(MS)
    assert client.events == []
    resumed = lab.runtime.now_ns()
    await lab.zone.resume()
    await lab.runtime.sleep(MS)
    assert client.events == [(resumed + 2600, [b"OK", b"OK", b"v"]), (resumed + 3600, [b"v"])]


@on_site(request_ns=100, service_ns=1000, reply_ns=100)
async def test_work_that_several_pauses_interrupt_takes_as_long_as_ever(lab):
    client = await lab.connected()
    client.send(SET, SET, GET)
    for worked_ns in (600, 700, 200, 900):  # the request takes the first 100
        await lab.runtime.sleep(worked_ns)
        await lab.zone.pause()
        await lab.runtime.sleep(MS)
        await lab.zone.resume()
    resumed = lab.runtime.now_ns()
    await lab.runtime.sleep(MS)
    assert client.events == [(resumed + 3000 - (500 + 700 + 200 + 900) + 100, [b"OK", b"OK", b"v"])]


@on_site()
async def test_what_a_client_sent_to_a_paused_server_is_executed_although_it_hung_up(lab):
    client, reader = await lab.connected(), await lab.connected()
    await lab.zone.pause()
    client.send(SET)
    client.upstream.close()
    await lab.zone.resume()
    assert await reader.ask(GET) == [b"v"]
    assert client.events == []


@on_site(request_ns=100, reply_ns=100)
async def test_a_killed_server_drops_what_waits_and_closes_its_connections(lab):
    client = await lab.connected()
    await lab.zone.pause()
    client.send(SET)
    killed = lab.runtime.now_ns()
    await lab.zone.kill()
    client.send(SET)  # the client has not noticed yet
    await lab.runtime.sleep(MS)
    assert client.events == [(killed + 100, "closed")]
    await lab.zone.restart(Restart.KEEP)
    reader = await lab.connected()
    assert await reader.ask(GET) == [None]


@pytest.mark.parametrize(("after_ns", "done"), [(50, 0), (1050, 0), (1150, 1), (2150, 2), (3090, 2)])
@on_site(request_ns=100, service_ns=1000, reply_ns=100, persistence=Persistence.AOF_ALWAYS, fsync_ns=5000)
async def test_a_pipeline_that_a_kill_cuts_has_executed_a_prefix(lab, after_ns, done):
    client = await lab.connected()
    client.send(*(("RPUSH", "l", number) for number in range(3)))
    await lab.runtime.sleep(after_ns)
    await lab.zone.kill()
    await lab.runtime.sleep(MS)
    assert client.answers == ["closed"]
    await lab.zone.restart(Restart.KEEP)
    reader = await lab.connected()
    assert await reader.ask(("LLEN", "l")) == [done]


@on_site(request_ns=100, service_ns=10, reply_ns=1000, persistence=Persistence.AOF_NO)
async def test_a_reply_that_is_on_its_way_when_the_server_dies_is_lost_but_its_effect_is_not(lab):
    client = await lab.connected()
    client.send(SET)
    await lab.runtime.sleep(500)
    await lab.zone.kill()
    await lab.runtime.sleep(MS)
    assert client.answers == ["closed"]
    await lab.zone.restart(Restart.KEEP)
    reader = await lab.connected()
    assert await reader.ask(GET) == [b"v"]


@on_site(request_ns=0, service_ns=10, reply_ns=0, fsync_ns=5000, persistence=Persistence.AOF_ALWAYS)
async def test_a_flush_costs_time_for_writes_only(lab):
    client = await lab.connected()
    begin = lab.runtime.now_ns()
    client.send(SET, SET)
    client.send(GET)
    await lab.runtime.sleep(MS)
    assert [when - begin for when, _ in client.events] == [5020, 5030]


@on_site(request_ns=0, service_ns=0, reply_ns=0)
async def test_the_server_tells_the_time_of_its_node(lab):
    client = await lab.connected()
    await client.ask(("SET", "k", "v", "PX", 1000))
    lab.zone.clock.jump(999_000_000)
    assert await client.ask(GET) == [b"v"]
    lab.zone.clock.jump(10_000_000)
    assert await client.ask(GET) == [None]


def test_times_below_zero_are_refused():
    with pytest.raises(ValueError, match="service_ns must be 0 or more nanoseconds, got -1"):
        ServerSettings(service_ns=-1)
