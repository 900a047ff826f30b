"""Time for which a partition of ordered messages has no owner: its owner leaves, dies, stands still, or another joins.

A try: member m works on a partition, n is a member too, something happens to m, and the time until its successor begins
a message is taken. Tries begin at drawn times, side by side on one cluster. RocketMQ's modes run on one zone with the
times with which the programs themselves were measured (``as-measured``: what can be set there divided by 20), and stand
beside that measurement. Mode fenced runs on three zones at DC_QUORUM.

    .venv/bin/python benchmarks/fifo_handover.py [--on sim|process] [--modes MODE ...] [--tries 24] [--seed 1]
"""

import argparse
import asyncio
import json
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any

import uvloop
from environment import environment

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.zones import zones
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.testbed import Testbed
from zonelab.cluster.votes.levels import Level
from zonelab.engine.fifo.consumer.context import MemberContext, Zones
from zonelab.engine.fifo.consumer.listener import ConsumeStatus
from zonelab.engine.fifo.events import NullObserver
from zonelab.engine.fifo.fenced.keys import FencedKeys
from zonelab.engine.fifo.fenced.member.zones import FencedLogs, FencedZones, Wires
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.log.partition_log import PartitionLogs
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.member import Member
from zonelab.engine.fifo.modes import GroupMode, Profile, group_settings
from zonelab.engine.fifo.partition import partitions_of
from zonelab.scenarios.clients.program_crash import CrashSwitch

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
EVENTS = (
    *("kill before the first flush", "kill after it", "standing still"),
    *("join", "graceful stop", "stop while a revoke waits"),
)
MEASURED = {
    ("rocketmq-5.3", "kill before the first flush"): (2.64, 3.20, 3.53),
    ("rocketmq-5.3", "kill after it"): (2.76, 3.13, 3.48),
    ("rocketmq-5.3", "standing still"): (5.79, 6.28, 6.49),
    ("rocketmq-5.3", "join"): (0.54, 0.92, 2.06),
    ("rocketmq-5.3", "graceful stop"): (0.51, 0.53, 0.57),
    ("rocketmq-4.9", "kill before the first flush"): (3.12, 4.13, 5.31),
    ("rocketmq-4.9", "kill after it"): (4.08, 4.09, 4.11),
    ("rocketmq-4.9", "standing still"): (6.32, 6.76, 7.00),
    ("rocketmq-4.9", "join"): (2.09, 3.05, 6.06),
    ("rocketmq-4.9", "graceful stop"): (1.01, 1.02, 1.03),
}
"""Seconds, least, median and most, of 4.9.4 and 5.3.1 with one broker on 22 November 2026."""

WORK_MS, LONG_WORK_MS = 100, 60_000
REVOKED_S = 0.7
"""From a successor's start to the stop of a member whose revoke waits: short of a forced unlock."""

GIVEN_UP_S = 60
MESSAGES = {GroupMode.ROCKETMQ_4_9: 400, GroupMode.ROCKETMQ_5_3: 400, GroupMode.FENCED: 150}
"""Messages of an inbox without an offset, which cost its owner more than in proportion, so there are fewer."""


@dataclass(frozen=True)
class Try:
    """One topic and group of its own."""

    testbed: Testbed
    mode: GroupMode
    name: str

    @property
    def fenced(self) -> bool:
        return self.mode is GroupMode.FENCED

    @property
    def keys(self) -> FifoKeys:
        return FifoKeys(prefix=self.name)

    def wires(self, session: str, switch: CrashSwitch) -> Wires:
        testbed = self.testbed
        return Wires(
            session=session,
            runtime=switch.view.runtime_of(testbed.runtime),
            clock=testbed.clock("a"),
            safe=switch.wrap(testbed.connection("a", Level.DC_SAFE_QUORUM)),
            level=switch.wrap(testbed.connection("a", Level.DC_QUORUM)),
            zones={zone: switch.wrap(testbed.reads("a", zone)) for zone in testbed.zones},
            near="a",
            keys=FencedKeys(prefix=self.name),
        )

    async def takes(self, event: str, random: Random) -> float:
        """Seconds until the successor begins."""
        runtime = self.testbed.runtime
        joined_s, happens_s, part = random.uniform(0.5, 1.5), random.uniform(2, 5), random.uniform(0, 0.5)
        await self._produce()
        waits = event == "stop while a revoke waits"
        m, n = (self._program(name, LONG_WORK_MS if waits else WORK_MS) for name in "mn")
        await m.member.start()
        await runtime.sleep(round(joined_s * NS_PER_S))
        if not waits and event != "join":
            await n.member.start()
        await runtime.sleep(round((happens_s + (10 if event == "kill after it" else 0)) * NS_PER_S))
        while not m.busy:
            await runtime.sleep(NS_PER_MS)
        await runtime.sleep(round(part * WORK_MS * NS_PER_MS))
        begin_ns, successor = runtime.now_ns(), n
        if waits or event == "join":
            successor = self._program("a", WORK_MS)
            await successor.member.start()
        if waits:
            await runtime.sleep(round(REVOKED_S * NS_PER_S))
            begin_ns = runtime.now_ns()
        if event == "standing still":
            m.switch.view.pause(runtime, at_command=None, after_effect=False)
        elif waits or event == "graceful stop":
            runtime.spawn(m.member.close(), name="close")
        elif event != "join":
            m.member.kill()
            await n.leaves("m")
        while successor.begun_ns is None:
            if runtime.now_ns() - begin_ns > GIVEN_UP_S * NS_PER_S:
                raise TimeoutError(f"{self.name}: nobody began a message within {GIVEN_UP_S} s")
            await runtime.sleep(NS_PER_MS)
        took_s = (successor.begun_ns - begin_ns) / NS_PER_S
        for program in (m, n, successor):
            program.switch.view.go_on()
            program.member.kill()
        return took_s

    async def _produce(self) -> None:
        switch = CrashSwitch("p")
        records = [
            PartitionRecord(id=f"x{number}", key="k", body="", producer="p", sequence=number + 1)
            for number in range(MESSAGES[self.mode])
        ]
        if self.fenced:
            logs = FencedLogs(wires=self.wires(f"p-{self.name}", switch), tenures=None, keys=self.keys)
            await logs.append_all(self._partition, records)
            return
        connection = self.testbed.connection("a", Level.DC_QUORUM)
        plain = PartitionLogs(level=connection, reads=connection, keys=self.keys)
        for record in records:
            await plain.append(self._partition, record, idempotent=True)

    @property
    def _partition(self) -> Any:
        return partitions_of("t", 1, ("a",))[0]

    def _program(self, name: str, work_ms: int) -> "Program":
        settings = group_settings(self.mode, Profile.AS_MEASURED)
        program = Program(self.testbed, CrashSwitch(name))
        runtime, switch = program.switch.view.runtime_of(self.testbed.runtime), program.switch
        if self.fenced:
            wires = self.wires(f"{name}-{self.name}", switch)
            asked: Zones = FencedZones.of_wires(settings, name, wires=wires, keys=self.keys)
        else:
            connection = switch.wrap(self.testbed.connection("a", Level.DC_QUORUM))
            asked = Zones.of(settings, level=connection, reads=connection, near=connection, keys=self.keys)

        async def listen(_batch: Any, _handling: Any) -> ConsumeStatus:
            program.begins()
            await runtime.sleep(work_ms * NS_PER_MS)
            program.busy = False
            return ConsumeStatus.SUCCESS

        context = MemberContext(
            name=name,
            session=f"{name}-{self.name}",
            settings=settings,
            runtime=runtime,
            clock=self.testbed.clock("a"),
            zones=asked,
            listener=listen,
            observer=NullObserver(),
        )
        program.member = Member(context, partitions=[self._partition], room_of=lambda _: "a")
        program.leaves = asked.members.leave
        return program


class Program:
    member: Member
    leaves: Any

    def __init__(self, testbed: Testbed, switch: CrashSwitch) -> None:
        self._testbed, self.switch = testbed, switch
        self.begun_ns: int | None = None
        self.busy = False

    def begins(self) -> None:
        self.busy = True
        if self.begun_ns is None:
            self.begun_ns = self._testbed.runtime.now_ns()


async def all_tries(testbed: Testbed, mode: GroupMode, event: str, tries: int) -> list[float]:
    """Those are left out in which a revoke did not wait: the last renewal was so old that the unlock was forced."""
    await testbed.start()
    try:
        tasks = []
        for number in range(tries):
            one = Try(testbed, mode, f"{mode}-{event}-{number}".replace(" ", "-"))
            tasks.append(testbed.runtime.spawn(one.takes(event, testbed.runtime.random(one.name)), name=one.name))
        took_s = [await task.join() for task in tasks]
        return [each for each in took_s if each >= 0]
    finally:
        await testbed.stop()


def carried_out(arm: str, mode: GroupMode, event: str, tries: int, seed: int) -> list[float]:
    names = "abc" if mode is GroupMode.FENCED else "a"
    if arm == "sim":
        cluster = SimCluster(tuple(names), SimSettings(seed=seed, lag=parse_lag("0")))
        return cluster.runtime.run_until_complete(all_tries(cluster, mode, event, tries))

    async def whole() -> list[float]:
        return await all_tries(RealCluster(zones("process", names), RealSettings(seed=seed)), mode, event, tries)

    work: Coroutine[Any, Any, list[float]] = whole()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def row(mode: GroupMode, event: str, took_s: Sequence[float]) -> str:
    least, middle, most = min(took_s), median(took_s), max(took_s)
    lease_s = group_settings(mode, Profile.AS_MEASURED).times_ms.lease / 1_000
    beside = MEASURED.get((str(mode), event))
    told = "–" if beside is None else " / ".join(f"{one:.2f}" for one in beside)
    within = "–" if beside is None else "yes" if beside[0] <= round(middle, 2) <= beside[2] else "no"
    seen = f"{least:.2f} / {middle:.2f} / {most:.2f}"
    return f"| {mode} | {event} | {len(took_s)} | {seen} | {middle / lease_s:.2f} | {told} | {within} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", choices=("sim", "process"), default="sim")
    modes = [str(mode) for mode in GroupMode]
    parser.add_argument("--modes", nargs="+", choices=modes, default=modes)
    parser.add_argument("--events", nargs="+", choices=EVENTS, default=EVENTS)
    parser.add_argument("--tries", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(json.dumps({**environment(), "on": options.on, "seed": options.seed}))
    print("| mode | event | tries | s: least / median / most | leases | measured | median within |")
    print("|---|---|---|---|---|---|---|")
    for mode in map(GroupMode, options.modes):
        for event in options.events:
            if mode is GroupMode.FENCED and event == "kill after it":
                continue  # it commits each message: there is no flush
            print(row(mode, event, carried_out(options.on, mode, event, options.tries, options.seed)), flush=True)


if __name__ == "__main__":
    main()
