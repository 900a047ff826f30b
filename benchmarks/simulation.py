"""Speed of the simulation: events beside bare SimPy, commands of the server model, messages of a whole cluster.

    python benchmarks/simulation.py

Each figure is the median of a few runs. Bare SimPy and the runtime take turns, so that a busy machine slows both.
"""

import time
from collections.abc import Callable, Iterator
from random import Random
from statistics import median

import simpy

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.sim.schedule import Schedule, TieBreak
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno import DynoQueue, DynoSettings
from zonelab.engine.message import Message

EVENTS = 300_000
COMMANDS = 30_000
MESSAGES = 3_000
REPEATS = 5
ZONES = ("a", "b", "c")


def seconds(body: Callable[[], object]) -> float:
    begin = time.perf_counter()
    body()
    return time.perf_counter() - begin


def bare_simpy(processes: int) -> None:
    environment = simpy.Environment()

    def process() -> Iterator[simpy.Event]:
        for _ in range(EVENTS // processes):
            yield environment.timeout(1)

    for _ in range(processes):
        environment.process(process())
    environment.run()


def runtime(processes: int, tie_break: TieBreak) -> None:
    sim = SimRuntime(seed=1, schedule=Schedule(tie_break=tie_break))

    async def process() -> None:
        for _ in range(EVENTS // processes):
            await sim.sleep(1)

    async def program() -> None:
        for task in [sim.spawn(process(), name="process") for _ in range(processes)]:
            await task.join()

    sim.run_until_complete(program())


def events() -> None:
    for processes in (1, 100, 1000):
        bodies: dict[str, Callable[[], object]] = {"bare SimPy": lambda n=processes: bare_simpy(n)}
        for tie_break in TieBreak:
            bodies[tie_break] = lambda n=processes, tie=tie_break: runtime(n, tie)
        taken: dict[str, list[float]] = {name: [] for name in bodies}
        for _ in range(REPEATS):
            for name, body in bodies.items():
                taken[name].append(seconds(body))
        for name, times in taken.items():
            ratio = median(bare / own for bare, own in zip(taken["bare SimPy"], times, strict=True))
            print(
                f"{processes:>5} tasks  {name:<10} {EVENTS / median(times):>10,.0f} events/s  {ratio:.2f} of bare SimPy"
            )


def commands() -> None:
    model = RedisModel(clock_us=lambda: 1_700_000_000_000_000, random=Random(1))

    def message_life(number: int) -> None:
        """The eight commands of one push, pop and ack of dyno-queues."""
        name = str(number)
        model.execute(("HSET", "h", name, b"{}"))
        model.execute(("ZADD", "q", 1.7e12 + number / 100.0, name))
        model.execute(("ZRANGEBYSCORE", "q", 0, 1.8e12, "LIMIT", 0, 1))
        model.execute(("ZADD", "u", "NX", 1.7e12 + number, name))
        model.execute(("ZREM", "q", name))
        model.execute(("HGET", "h", name))
        model.execute(("ZREM", "u", name))
        model.execute(("HDEL", "h", name))

    script = "return redis.call('GET', KEYS[1])"
    cases: list[tuple[str, int, Callable[[int], object]]] = [
        ("GET", 1, lambda _: model.execute(("GET", "k"))),
        ("life of a message", 8, message_life),
        ("EVAL with one call", 1, lambda _: model.execute(("EVAL", script, 1, "k"))),
    ]
    for name, each, body in cases:
        times = [seconds(lambda body=body: [body(number) for number in range(COMMANDS)]) for _ in range(REPEATS)]
        print(f"model of the server: {name:<20} {COMMANDS * each / median(times):>10,.0f} commands/s")


def load(level: Level) -> SimCluster:
    """Producers and consumers in three zones until ``MESSAGES`` have been pushed, popped and acknowledged."""
    cluster = SimCluster(ZONES, SimSettings(seed=1, lag=parse_lag("uniform:0.2ms:1ms")))
    acknowledged = [0]

    async def produce(queue: DynoQueue, zone: str) -> None:
        for number in range(MESSAGES // len(ZONES)):
            await queue.push([Message(id=f"{zone}{number}", payload="x" * 100)])

    async def consume(queue: DynoQueue) -> None:
        while acknowledged[0] < MESSAGES:
            for delivery in await queue.pop(5, wait_ms=20):
                acked = await queue.ack(delivery.message.id)
                acknowledged[0] += acked

    async def program() -> None:
        async with cluster:
            tasks = []
            for zone in ZONES:
                queue = DynoQueue(
                    "load",
                    runtime=cluster.runtime,
                    clock=cluster.clock(zone),
                    quorum=cluster.connection(zone, level),
                    local=cluster.connection(zone, Level.DC_ONE),
                    settings=DynoSettings(prefix="p", shards=ZONES, shard=zone, poll_interval_ms=5),
                )
                tasks.append(cluster.runtime.spawn(produce(queue, zone), name=f"producer {zone}"))
                tasks += [cluster.runtime.spawn(consume(queue), name=f"consumer {zone}") for _ in range(4)]
            for task in tasks:
                await task.join()

    cluster.runtime.run_until_complete(program())
    return cluster


def messages() -> None:
    for level in Level:
        begin = time.perf_counter()
        cluster = load(level)
        took_s = time.perf_counter() - begin
        virtual_s = cluster.runtime.now_ns() / 1e9
        print(
            f"cluster of three zones, {level:<15} {MESSAGES / took_s:>7,.0f} messages/s  "
            f"{cluster.runtime.trace.events / took_s:>9,.0f} events/s  {virtual_s / took_s:.2f} virtual s/s"
        )


if __name__ == "__main__":
    events()
    commands()
    messages()
