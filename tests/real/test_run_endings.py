"""Goal: however a run ends, its servers and files are gone, and the run directory says how it ended.

Method: runs with a fault planted in the lab itself (an exception, a full disk, a server that cannot start).
"""

import errno
import json
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.scenarios.short_runs import Ran, run_short, servers_of, zonelab_command

from zonelab.cluster.testbed import Testbed as Cluster
from zonelab.engine.message import Delivery
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.dyno import DynoUnderTest
from zonelab.scenarios.queues.under_test import Wrap
from zonelab.scenarios.spec.scenario import Scenario

pytestmark = pytest.mark.real


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the servers of this test have their files; their command lines name it."""
    directory = tmp_path / "servers"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def nothing_is_left(servers: Path) -> bool:
    return servers_of(str(servers)) == [] and list(servers.iterdir()) == []


class Breaking(DynoUnderTest):
    """The consumers of zone b have a bug: their pops raise what no cluster would."""

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        queue = await super().consumer(zone, wrap)

        class Broken:
            async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
                await queue.pop(count, wait_ms=wait_ms)
                raise ZeroDivisionError("planted in zone b")

            async def ack(self, delivery: Delivery, /) -> bool:
                return await queue.ack(delivery)

            async def close(self) -> None:
                await queue.close()

        return Broken() if zone == "b" else queue


def failed(run: Ran, error: str) -> None:
    assert (run.record.status, run.record.error) == ("failed", error)
    told = run.json("run.json")
    assert (told["status"], told["error"]) == ("failed", error)
    assert "Traceback" in run.log


def test_a_run_that_completes_leaves_no_server_and_no_server_files(tmp_path: Path, servers: Path) -> None:
    run = run_short(tmp_path, load={"duration_s": 1})
    assert run.record.status == "complete"
    assert nothing_is_left(servers)


def test_after_a_run_signals_do_again_what_they_did_before(tmp_path: Path) -> None:
    def mine(number: int, frame: FrameType | None) -> None: ...

    before = signal.signal(signal.SIGTERM, mine)
    try:
        run_short(tmp_path, load={"duration_s": 1})
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("arm", ["process", "sim"])
def test_a_signal_that_is_ignored_as_by_nohup_ends_no_run(arm: str, tmp_path: Path) -> None:
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # programs that are started now inherit it
    try:
        words = zonelab_command("run", "steady", "--on", arm, "--set", "load.duration_s=2")
        run = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        signal.signal(signal.SIGHUP, ignored)
    while run.poll() is None:
        run.send_signal(signal.SIGHUP)
        time.sleep(0.05)
    assert json.loads((tmp_path / "runs/steady/latest/run.json").read_text())["status"] == "complete"


def test_an_exception_in_the_middle_ends_the_run_as_failed_and_the_record_can_be_read(
    tmp_path: Path, servers: Path
) -> None:
    run = run_short(tmp_path, make_queue=Breaking)
    failed(run, "ZeroDivisionError: planted in zone b")
    assert nothing_is_left(servers)
    assert "drain" not in run.phases
    assert run.table("operations")
    assert {row["zone"] for row in run.table("depth")} <= {"a", "b", "c"}


def test_a_failure_during_a_fault_ends_with_no_server_left_dead_or_paused(tmp_path: Path, servers: Path) -> None:
    def breaks_late(testbed: Cluster, scenario: Scenario) -> DynoUnderTest:
        testbed.runtime.call_later(1_500_000_000, lambda: setattr(queue, "broken", True))
        queue = _BreaksLate(testbed, scenario)
        return queue

    faults = [
        {"kind": "pause", "zone": "b", "at_s": 0.5, "for_s": 3},
        {"kind": "kill", "zone": "c", "at_s": 0.5, "for_s": 3},
    ]
    run = run_short(tmp_path, make_queue=breaks_late, faults=faults, load={"duration_s": 4})
    failed(run, "ZeroDivisionError: planted")
    assert [row["end_ns"] for row in run.table("faults")] == [None, None]
    assert nothing_is_left(servers)


class _BreaksLate(DynoUnderTest):
    broken = False

    async def depth(self, shard: str) -> Any:
        if self.broken:
            raise ZeroDivisionError("planted")
        return await super().depth(shard)


def test_a_full_disk_ends_the_run_with_one_line(tmp_path: Path, servers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: pq.ParquetWriter, table: pa.Table) -> None:
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    run = run_short(tmp_path, load={"duration_s": 1})
    failed(run, "writing a file: No space left on device")
    assert nothing_is_left(servers)


def test_a_server_that_cannot_start_ends_the_run_with_the_zones_own_words(
    tmp_path: Path, servers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zonelab.cluster.real.zones.process import process
    from zonelab.cluster.zone import ZoneError

    def missing(given: object) -> None:
        raise ZoneError("no server program: planted")

    monkeypatch.setattr(process, "find_binary", missing)
    run = run_short(tmp_path)
    failed(run, "no server program: planted")
    assert run.phases == ["set-up"]
    assert nothing_is_left(servers)
