"""Goal: members that are processes of their own hand a partition over when they stand still, go on and are killed.

Method: two programs at the ports of two zones of ``zonelab up``; SIGSTOP, SIGCONT and SIGKILL; every wait is for what a
program says. How long anything takes decides nothing.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.engine.fifo_process import KEYS, PARTITIONS, connected
from support.programs import until

from zonelab.cluster.real.runtime import RealRuntime
from zonelab.engine.fifo.log.partition_log import PartitionLogs
from zonelab.engine.fifo.log.record import PartitionRecord

pytestmark = pytest.mark.real

TESTS = Path(__file__).parents[2]
MESSAGES = 40
WORK_MS = 250


class MemberProcess:
    """``said``: what it has begun and ended, in its order."""

    def __init__(self, name, port):
        words = [sys.executable, "-m", "support.engine.fifo_process", name, str(port), str(WORK_MS)]
        self.process = subprocess.Popen(words, cwd=TESTS, stdout=subprocess.PIPE, text=True)
        self.said = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            told = json.loads(line)
            self.said.append((told["what"], told["offset"]))

    def offsets(self, what):
        return [offset for said, offset in self.said if said == what]

    def send(self, number):
        os.kill(self.process.pid, number)

    def stopped_in_mid_message(self):
        """It stands still with a message in hand; if it was just done with one, it goes on and is tried again."""
        begun = len(self.offsets("start"))
        until(lambda: len(self.offsets("start")) > begun)
        self.send(signal.SIGSTOP)
        until(lambda: Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T")
        if len(self.offsets("start")) == len(self.offsets("end")):
            self.send(signal.SIGCONT)
            return False
        return True

    def end(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()


@pytest.fixture
def members():
    started = {}
    yield started
    for member in started.values():
        member.end()


def produce(port):
    async def append_all():
        runtime = RealRuntime(seed=1)
        connection = await connected(port, runtime)
        logs = PartitionLogs(level=connection, reads=connection, keys=KEYS)
        for number in range(MESSAGES):
            record = PartitionRecord(id=f"x{number}", key="k", body="", producer="p", sequence=number + 1)
            await logs.append(PARTITIONS[0], record, idempotent=True)

    asyncio.run(append_all())


def test_a_partition_goes_from_a_process_that_stands_still_to_another_and_back_when_that_is_killed(lab, members):
    lab.up("--zones", "2")
    ports = {name: int(zone["coordinator"]["address"].rpartition(":")[2]) for name, zone in lab.zones.items()}
    produce(ports["a"])
    m = members["m"] = MemberProcess("m", ports["a"])
    until(lambda: ("joined", -1) in m.said)
    until(lambda: m.offsets("end"))
    n = members["n"] = MemberProcess("n", ports["b"])
    until(lambda: ("joined", -1) in n.said)
    until(m.stopped_in_mid_message)
    in_hand = m.offsets("start")[-1]
    until(lambda: n.offsets("start"))
    assert n.offsets("start")[0] <= in_hand
    m.send(signal.SIGCONT)
    until(lambda: in_hand in m.offsets("end"))  # beside the work of its successor, or after it
    n.send(signal.SIGKILL)
    n.process.wait()
    until(lambda: set(m.offsets("end")) | set(n.offsets("end")) == set(range(MESSAGES)))
    for member in (m, n):
        first = list(dict.fromkeys(member.offsets("start")))
        assert first == sorted(first)
