"""Goal: programs on asyncio run in virtual time as they are. Method: parts of asyncio; kills; signals; equal traces."""

import asyncio
import datetime
import random
import signal
import time
import uuid
from datetime import datetime as datetime_class
from random import randint
from time import time as unix_s
from types import SimpleNamespace
from uuid import uuid4

import pytest
import redis

from zonelab import ClusterError
from zonelab.scenarios.clients.program_crash import CrashSwitch, ProgramCrashed
from zonelab.testing import asyncio_program, client, cluster

EPOCH_S = 1_700_000_000


def in_program(body, **options):
    """The result of ``body(lab)`` in a program in zone a."""
    return with_lab(lambda lab: asyncio_program(lab, "a").run(body(lab)), **options)


def with_lab(story, **options):
    with cluster("sim", **options) as lab:
        return lab.run(story)


def trace_of(lab):
    return lab._host.testbed.runtime.trace_hash


async def elapsed(coroutine):
    start_s = asyncio.get_running_loop().time()
    result = await coroutine
    return result, round(asyncio.get_running_loop().time() - start_s, 6)


def test_what_waits_for_time_or_tasks_takes_virtual_time():
    async def body(lab):
        assert await elapsed(asyncio.gather(asyncio.sleep(1, "a"), asyncio.sleep(3600, "b"))) == (["a", "b"], 3600)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(10), timeout=2)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(lab.sleep(10), timeout=2)  # a port's wait ends as asyncio's does
        outer = asyncio.ensure_future(asyncio.shield(inner := asyncio.create_task(asyncio.sleep(5, "kept"))))
        outer.cancel()
        assert await elapsed(inner) == ("kept", 5)
        assert await elapsed(first_failure()) == (True, 1)
        return asyncio.current_task().get_name()

    async def first_failure():
        try:
            async with asyncio.TaskGroup() as group, asyncio.timeout(1):
                group.create_task(asyncio.sleep(100))
                await asyncio.sleep(50)
        except ExceptionGroup as group:
            return group.subgroup(TimeoutError) is not None

    assert in_program(body).startswith("Task-")


def test_queues_locks_and_events_meet_their_waiters_in_order():
    async def body(lab):
        queue, lock, served = asyncio.Queue(), asyncio.Lock(), []

        async def worker(name):
            async with lock:
                served.append((name, await queue.get()))

        workers = [asyncio.create_task(worker(number)) for number in range(20)]
        for number in range(20):
            asyncio.get_running_loop().call_soon(queue.put_nowait, number)
        await asyncio.gather(*workers)
        return served

    assert in_program(body) == [(number, number) for number in range(20)]


def test_a_generator_that_is_left_is_closed_as_by_any_loop():
    async def body(lab):
        ended = asyncio.Event()

        async def numbers():
            try:
                yield 1
            finally:
                await asyncio.sleep(1)
                ended.set()

        async for _ in numbers():
            break
        await asyncio.wait_for(ended.wait(), timeout=2)

    in_program(body)


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (lambda: asyncio.to_thread(print), "run_in_executor: the simulated loop has no sockets, threads"),
        (lambda: asyncio.open_connection("localhost", 1), "create_connection: the simulated loop has no sockets"),
        (lambda: asyncio.create_subprocess_exec("true"), "subprocess_exec: the simulated loop has no sockets"),
        (lambda: asyncio.get_running_loop().run_forever(), "run_forever: the simulated loop runs as its cluster does"),
    ],
)
def test_what_the_loop_does_not_have_is_refused_by_name(call, wrong):
    async def body(lab):
        await call()

    with pytest.raises(NotImplementedError, match=wrong):
        in_program(body)


def test_redis_py_s_lock_and_client_work_between_two_programs():
    async def story(lab):
        held = []

        async def hold(zone):
            async with client(lab, zone).lock("lock", timeout=60):
                held.append(zone)
                await asyncio.sleep(1)
                held.append(zone)

        await lab.together(*(asyncio_program(lab, zone).run(hold(zone)) for zone in ("a", "a")))
        return held

    assert with_lab(story, zones=("a",)) == ["a"] * 4


def test_a_killed_program_does_nothing_more():
    async def story(lab):
        program, other, log = asyncio_program(lab, "a"), client(lab, "b"), []

        async def work():
            mine = client(lab, "a")
            try:
                while True:
                    log.append(await mine.blpop("jobs", timeout=0))
            finally:
                await mine.set("tidied", "up")

        async def wait_for_it():
            with pytest.raises(ClusterError, match="the program was killed"):
                await program.run(work())

        waiting = lab._host.testbed.runtime.spawn(wait_for_it(), name="waiting")
        await other.rpush("jobs", "one")
        await lab.sleep(1)
        program.kill()
        await lab.sleep(1)
        await other.rpush("jobs", "two")
        await lab.sleep(1)
        assert await other.lrange("jobs", 0, -1) == [b"two"]
        assert await other.exists("tidied") == 0
        assert lab._host.testbed._places["a"].room.waiting == 0
        await waiting.join()
        with pytest.raises(ClusterError, match="the program was killed"):
            await program.run(work())
        return log

    assert with_lab(story) == [(b"jobs", b"one")]


def test_a_crash_at_a_command_ends_the_whole_program():
    async def story(lab):
        switch = CrashSwitch("worker")
        switch.crash_before(3)
        log = []

        async def count(mine):
            while True:
                log.append(await mine.incr("n"))
                await asyncio.sleep(1)

        async def work():
            mine = client(lab, "a", wrap=switch.wrap)
            await asyncio.gather(count(mine), count(mine), return_exceptions=True)

        with pytest.raises(ProgramCrashed):
            await asyncio_program(lab, "a").run(work())
        await lab.sleep(5)
        return log

    assert with_lab(story) == [1, 2]


def test_a_signal_is_handled_or_ends_the_program():
    async def story(lab):
        program, log = asyncio_program(lab, "a"), []

        async def serve():
            stopped = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
            await stopped.wait()
            log.append("stopped")
            asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)

        program.start(serve())
        await lab.sleep(1)
        program.send_signal()
        await lab.sleep(1)
        assert not program.killed
        program.send_signal()
        return log, program.killed

    assert with_lab(story) == (["stopped"], True)


def test_clocks_and_random_numbers_of_a_named_package_are_the_program_s():
    def readings():
        now = datetime_class.now(datetime.UTC)
        assert isinstance(now, datetime_class)
        draws = (uuid4(), uuid.uuid1(), randint(1, 10**9), random.random())
        return (time.time(), unix_s(), time.time_ns() / 1e9, now.timestamp()), time.monotonic(), draws

    async def body(lab):
        await asyncio.sleep(60)
        return readings()

    async def story(lab):
        async with lab.fault("clock", zone="a", offset_ms=5000):
            return await asyncio_program(lab, "a", packages=(__name__,)).run(body(lab))

    before_s = readings()[0][0]
    first, second = with_lab(story), with_lab(story)
    assert first == second
    assert first != with_lab(story, seed=2)
    assert len({round(reading, 3) for reading in first[0]}) == 1
    assert 60 <= first[0][0] - EPOCH_S - 5 < 61
    assert 60 <= first[1] < 61
    assert readings()[0][0] >= before_s > EPOCH_S + 10**7  # outside of a program it is this machine's time


def test_equal_seeds_give_equal_traces_also_over_sets_of_tasks():
    async def body(lab):
        order = []
        tasks = {asyncio.create_task(asyncio.sleep(1)) for _ in range(50)}
        for task in tasks:
            task.add_done_callback(lambda task: order.append(task.get_name()))
        await asyncio.wait(tasks)
        return order, trace_of(lab)

    assert in_program(body) == in_program(body)
    assert in_program(body)[1] != in_program(body, seed=2)[1]


def test_a_cluster_on_servers_and_an_unknown_zone_are_refused():
    on_servers = SimpleNamespace(runtime=object(), coordinators={"a": None})
    with pytest.raises(ClusterError, match="asyncio_program: needs a simulated cluster"):
        asyncio_program(on_servers, "a")
    with pytest.raises(ClusterError, match="zone: got 'x'; accepted: a"):
        asyncio_program(on_servers, "x")


def test_a_program_that_tries_again_at_once_does_not_stop_the_time_nor_outlive_its_cluster():
    async def story(lab):
        tried = []

        async def insist():
            while True:
                try:
                    await client(lab, "a").get("k")
                except redis.ConnectionError:
                    tried.append(asyncio.get_running_loop().time())

        program = asyncio_program(lab, "a")
        async with lab.fault("coordinator_crash", zone="a"):
            program.start(insist())
            await lab.sleep(1)
        return program, len(tried)

    program, tries = with_lab(story)
    assert program.killed
    assert 100 < tries <= 1000
