"""Speed of the simulation: events a second of the runtime beside bare SimPy.

python benchmarks/simulation.py
"""

import time
from collections.abc import Callable, Iterator

import simpy

from cluster.sim.runtime import SimRuntime
from cluster.sim.ties import Schedule, TieBreak

EVENTS = 500_000
REPEATS = 3


def best_rate(count: int, body: Callable[[], object]) -> float:
    """The best of a few runs: noise of the machine only ever slows a run."""
    rates = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        body()
        rates.append(count / (time.perf_counter() - begin))
    return max(rates)


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
        bare = best_rate(EVENTS, lambda processes=processes: bare_simpy(processes))
        print(f"{processes:>5} tasks  bare SimPy {bare:>10,.0f} events/s")
        for tie_break in TieBreak:
            rate = best_rate(EVENTS, lambda processes=processes, tie=tie_break: runtime(processes, tie))
            print(f"{processes:>5} tasks  {tie_break:<10} {rate:>10,.0f} events/s   {rate / bare:.2f} of bare SimPy")


if __name__ == "__main__":
    events()
