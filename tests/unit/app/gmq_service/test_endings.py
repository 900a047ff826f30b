"""Goal: what a client or the service leaves in the middle is not lost by default: a vanished Pop, a stop, an outage."""

import asyncio
import json

import pytest
from support.app.gmq_service import KEYS, PATIENCE_S, ModelServer, on_service, service_bench, until
from support.coroutines import coroutine

from zonelab.app.gmq_service.rpc.protocol import MISTAKEN_PER_S
from zonelab.engine.gmq.buckets import IDLE_NS

PUSH = b'{"method":"Service.Push","params":[{"id":"7","topic":"mail","body":"b","delay":"%d","TTR":"%d"}],"id":0}'
POP = b'{"method":"Service.Pop","params":[["mail"]],"id":1}'


def is_script(command, name):
    return command[0] == "EVAL" and any(str(word).startswith(name) for word in command[3:])


def listed(server):
    return server.ask("LRANGE", KEYS.ready("mail"), 0, -1)


def job_of(answer):
    return json.loads(answer)["result"]["id"]


async def leave(bench, ttr):
    """A client leaves while its Pop waits; then a job comes, and another client asks for it."""
    leaving, other = bench.client(), bench.client()
    leaving.protocol.data_received(POP)
    await until(lambda: bench.pops.waiting == 1)
    leaving.protocol.connection_lost(None)
    await other.ask(PUSH % (0, ttr))
    return await other.ask(POP)


def test_who_vanishes_while_a_pop_waits_takes_no_job_along():
    async def popped(ttr):
        async with service_bench(pop_s=20) as bench:
            return job_of(await leave(bench, ttr))

    assert [asyncio.run(popped(ttr)) for ttr in (0, 5)] == ["7", "7"]


@on_service(compat=True, pop_s=0.5)
async def test_with_compat_the_vanished_pop_takes_the_next_job(bench):
    answer = await leave(bench, 0)
    exists = bench.server.ask("EXISTS", KEYS.job("7"))
    assert json.loads(answer)["error"] == "empty"
    assert exists == 0


@on_service(pop_s=20)
async def test_who_vanishes_when_the_job_is_taken_gives_it_back(bench):
    leaving, other = bench.client(), bench.client()
    await other.ask(PUSH % (0, 0))
    await until(lambda: listed(bench.server))

    async def vanish(command):
        if command[0] == "RPOP":
            leaving.protocol.connection_lost(None)

    bench.server.before = vanish
    leaving.protocol.data_received(POP)
    await until(lambda: leaving.protocol._ended and not bench.port._work)
    bench.server.before = None
    job = json.loads(await other.ask(POP))["result"]
    assert (job["id"], job["consume_num"]) == ("7", "0")


async def stopped_with_both_in_hand(*, compat):
    """A push of 7 and a pop of 8 are held at a command when the stop comes: both answers, and where the jobs are."""
    held, gate = [], asyncio.Event()

    async def hold(command):
        job = {KEYS.job("7"), KEYS.job("8")}.intersection(map(str, command))
        if job and (command[0] == "EVAL" or command[:1] == ("HMSET",) or command[0] == "HSET"):
            held.append(job)
            await gate.wait()

    async with service_bench(compat=compat) as bench:
        pushing, popping = bench.client(), bench.client()
        await popping.ask(PUSH.replace(b'"7"', b'"8"') % (0, 5))
        await until(lambda: listed(bench.server))
        bench.server.before = hold
        popping.protocol.data_received(POP)
        pushing.protocol.data_received(PUSH % (0, 5))
        await until(lambda: len(held) == 2)
        stopping = asyncio.create_task(bench.stop())
        await until(lambda: stopping.done() if compat else pushing.protocol._stopping)
        gate.set()
        assert await stopping
        await until(lambda: not bench.port._work)
        leased = [bench.server.ask("ZSCORE", KEYS.ttr_bucket(n), "8") for n in range(3)]
        answers = [bytes(client.wire.written) for client in (pushing, popping)]
        return answers, listed(bench.server), any(leased), [bench.server.ask("EXISTS", KEYS.job(one)) for one in "78"]


def test_a_stop_finishes_the_push_and_the_pop_in_hand():
    (pushed, popped), ready, leased, _ = asyncio.run(stopped_with_both_in_hand(compat=False))
    assert json.loads(pushed)["result"] == "success"
    assert job_of(popped) == "8"
    assert (ready, leased) == ([b"7"], True)


def test_with_compat_a_stop_leaves_the_push_and_the_pop_in_hand_in_the_pool_only():
    """N2: nobody received 8, whose push was acknowledged."""
    answers, ready, leased, in_pool = asyncio.run(stopped_with_both_in_hand(compat=True))
    assert [b"success" in answer or b'"id":"8"' in answer for answer in answers] == [False, False]
    assert (ready, leased, in_pool) == ([], False, [1, 1])


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
@coroutine
async def test_a_stop_while_an_idle_bucket_writes_ends_and_with_compat_by_its_bound_alone(compat):
    """N2: the bucket waits for its timer, which has ended and waits for the bucket."""
    async with service_bench(compat=compat) as bench:
        buckets, writes = bench.jobs.dispatcher.delayed, asyncio.Event()

        async def stop_here(command):
            if is_script(command, "gmq:bucket:"):
                bench.server.before = None
                writes.set()
                await until(lambda: all(bucket._stopping for bucket in buckets))

        if compat:
            idle_ns = bench.runtime.now_ns() + IDLE_NS // 2
            await until(lambda: all(bucket.next_ns > idle_ns for bucket in buckets))
        bench.server.before = stop_here
        assert b"success" in await bench.client().ask(PUSH % (60, 5))
        await writes.wait()
        ended = await bench.stop(stop_s=0.5 if compat else PATIENCE_S)
        assert ended is not compat
        assert any(bench.server.ask("ZSCORE", KEYS.delay_bucket(n), "7") for n in range(3))


@on_service(pop_s=20)
async def test_a_server_that_is_away_is_an_error_at_once_and_the_buckets_wake_up_again(bench):
    client = bench.client()
    await client.ask(PUSH % (1, 5))
    bench.server.away = True
    away = [json.loads(await client.ask(sent)) for sent in (PUSH % (0, 0), POP)]
    bench.server.away = False
    popped = job_of(await client.ask(POP))
    told = "redis: the server is not reached; nothing was done"
    assert (away[0]["result"], away[1]["error"]) == (told, told)
    assert popped == "7"


@on_service(clients_max=2, request_bytes_max=1_000)
async def test_too_many_clients_are_refused_and_too_large_a_request_is_closed(bench, caplog):
    first, second, third = bench.client(), bench.client(), bench.client()
    assert third.wire.closed.is_set()
    first.protocol.data_received(b'{"method":"' + b"x" * 1_001)
    assert first.wire.closed.is_set()
    answer, refusals, closings = await second.ask(POP), bench.traffic.refusals, dict(bench.traffic.closings)
    assert json.loads(answer)["error"] == "empty"
    assert (refusals, closings) == (1, {"request_bytes_max": 1})
    assert "refused a client at rpc" in caplog.text


@pytest.mark.parametrize("first", [b"", b'{"method":'], ids=["idle", "half a line"])
@on_service(clients_max=3, silent_s=0)
async def test_who_has_sent_no_request_for_long_gives_way_to_a_newcomer(bench, first):
    asked, silent, later = bench.client(), bench.client(), bench.client()
    await asked.ask(POP)
    silent.protocol.data_received(first)
    newcomer = bench.client()
    closed = [client.wire.closed.is_set() for client in (asked, silent, later, newcomer)]
    answer, refusals, closings = await newcomer.ask(POP), bench.traffic.refusals, dict(bench.traffic.closings)
    assert closed == [False, True, False, False]
    assert json.loads(answer)["error"] == "empty"
    assert (refusals, closings) == (0, {"no_request": 1})


def test_who_has_sent_a_request_or_came_a_moment_ago_gives_way_to_nobody():
    async def refused(silent_s, *, ask):
        async with service_bench(clients_max=1, silent_s=silent_s) as bench:
            client = bench.client()
            if ask:
                await client.ask(POP)
            return bench.client().wire.closed.is_set() and not client.wire.closed.is_set()

    assert asyncio.run(refused(0, ask=True))
    assert asyncio.run(refused(600, ask=False))


@on_service()
async def test_who_sends_mistaken_requests_is_answered_and_then_read_in_turn_with_others_of_that_kind(bench):
    client, turns = bench.client(), []
    bench.port.mistaken.take = lambda turn_s, ended: turns.append((turn_s, ended))
    await client.ask(b'{"method":"No.Such","id":1}{"method":"Service.Ack","params":[5],"id":2}', lines=2)
    client.protocol.data_received(POP)  # it had arrived
    read = [client.wire.reading]
    for _, ended in turns:
        assert not client.protocol._under_way
        ended()
        read.append(client.wire.reading)
    answer = await client.answer()
    assert [turn_s for turn_s, _ in turns] == [1 / MISTAKEN_PER_S] * 2
    assert read == [False, False, True]
    assert json.loads(answer)["error"] == "empty"


@coroutine
async def test_two_services_on_the_same_data_deliver_each_job_once_and_either_goes_on_alone():
    """N6: a job that one stored, with a delay, is served by the other when the first has ended."""
    server = ModelServer()
    async with service_bench(pop_s=20, server=server) as second:
        async with service_bench(pop_s=20, server=server) as first:
            for number in range(20):
                await first.client().ask(PUSH.replace(b'"7"', b'"%d"' % number) % (0, 60))
            clients = [one.client() for one in (first, second) for _ in range(10)]
            popped = await asyncio.gather(*(client.ask(POP) for client in clients))
            await first.client().ask(PUSH.replace(b'"7"', b'"later"') % (2, 60))
        popped, later = [job_of(answer) for answer in popped], job_of(await second.client().ask(POP))
    assert sorted(map(int, popped)) == list(range(20))
    assert later == "later"
