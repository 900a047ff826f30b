"""Goal: a sweep on a cluster of Spark outlives a worker that is killed, and shows what it shows here.

Method: a standalone master and two workers on loopback, of which one is killed with its executor in mid-sweep.
"""

import json
import os
import re
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from support.app.commands import zonelab_here
from support.programs import until
from support.scenarios.short_runs import servers_of, zonelab_command
from support.scenarios.sim_runs import SMALL

from zonelab.analysis.spark.session import INTERPRETED
from zonelab.studies.many_runs.state import RESULTS_NAME

pytestmark = [pytest.mark.java, pytest.mark.real]

LOOPBACK = "127.0.0.1"
PATIENCE_S = 400.0
"""Five Java programs start, on a machine that may be busy."""

CLASS = "org.apache.spark.deploy"


class Cluster:
    """``url`` is the master's; ``workers`` are processes, each with a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "SPARK_LOCAL_IP": LOOPBACK, "SPARK_DAEMON_MEMORY": "256m"}
        self.port, self.page = free_port(), free_port()
        self.url = f"spark://{LOOPBACK}:{self.port}"
        given = ("--host", LOOPBACK, "--port", str(self.port), "--webui-port", str(self.page))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._given = given

    def begin(self) -> None:
        self.processes["master"] = self._begun("master", f"{CLASS}.master.Master", *self._given)
        until(lambda: self.alive() == 0, patience_s=PATIENCE_S)
        for name in ("one", "two"):
            given = ("--host", LOOPBACK, "--cores", "1", "--memory", "512m", "--webui-port", "0", self.url)
            given = ("--work-dir", str(self.folder / name), *given)
            self.processes[name] = self._begun(name, f"{CLASS}.worker.Worker", *given)
        until(lambda: self.alive() == 2, patience_s=PATIENCE_S)

    def _begun(self, name: str, what: str, *words: str) -> subprocess.Popen[bytes]:
        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [program, what, *words], env=self.environment, stdout=log, stderr=log, cwd=self.folder
            )

    def alive(self) -> int | None:
        """Workers that the master knows and hears; None while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{LOOPBACK}:{self.page}/json/", timeout=5) as page:
                return int(json.load(page)["aliveworkers"])
        except (OSError, ValueError):  # before it has all its pages, another one is there in place of this
            return None

    def executors(self, name: str) -> list[int]:
        """They work in a folder of their worker."""
        found = []
        for pid in servers_of("CoarseGrainedExecutorBackend"):
            try:
                at = Path(f"/proc/{pid}/cwd").readlink()
            except OSError:
                continue
            if at.is_relative_to(self.folder / name):
                found.append(pid)
        return found

    def kill(self, name: str) -> None:
        for pid in (self.processes[name].pid, *self.executors(name)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.processes[name].wait()

    def end(self) -> None:
        for name in reversed(self.processes):
            self.kill(name)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "spark"
    folder.mkdir()
    found = Cluster(folder)
    try:
        found.begin()
        yield found
    finally:
        found.end()


def test_a_worker_killed_in_mid_sweep_costs_its_tasks_only(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(json.dumps(SMALL))
    words = ["sweep", "small.yaml", "--vary", "level=DC_ONE,DC_QUORUM", "--runs", "40", "--json"]
    sweeping = subprocess.Popen(
        zonelab_command(*words, "--master", cluster.url, "--conf", "spark.executor.memory=512m"),
        cwd=tmp_path,
        env=cluster.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    try:

        def made() -> int:
            assert sweeping.poll() is None, sweeping.communicate()
            return sum(len(path.read_bytes().splitlines()) for path in tmp_path.rglob(RESULTS_NAME))

        until(lambda: made() > 4, patience_s=PATIENCE_S)
        assert cluster.executors("one")
        cluster.kill("one")
        out, errors = sweeping.communicate(timeout=PATIENCE_S)
        assert sweeping.returncode == 0, errors
    finally:
        sweeping.kill()
    here = json.loads(zonelab_here(*words, "--dir", "here", cwd=tmp_path).stdout)
    told = json.loads(out)
    assert told["settings"] == here["settings"]
    assert [row["runs"] for row in told["settings"]] == [40, 40]
    assert re.search(r"--master spark://\S+", told["command"])


def test_a_worker_killed_in_mid_analysis_changes_no_figure(cluster: Cluster, tmp_path: Path) -> None:
    zonelab_here("run", "steady", "--on", "sim", "--set", "load.duration_s=3", cwd=tmp_path)
    words = ["analyze", "runs/steady/latest", "--json"]
    small = {"spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2", **INTERPRETED}
    settings = [word for name, value in small.items() for word in ("--conf", f"{name}={value}")]
    analyzing = subprocess.Popen(
        zonelab_command(*words, "--master", cluster.url, *settings),
        cwd=tmp_path,
        env=cluster.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: bool(cluster.executors("one")), patience_s=PATIENCE_S)  # the work begins once it has one
        cluster.kill("one")
        out, errors = analyzing.communicate(timeout=PATIENCE_S)
        assert analyzing.returncode == 0, errors
    finally:
        analyzing.kill()
    (found,) = json.loads(out)["settings"]
    checked = json.loads((tmp_path / "runs" / "steady" / "latest" / "verdict.json").read_text())["sections"]["queue"]
    assert checked["totals"]["pushed"] > 100
    assert (found["totals"], found["counts"]) == (checked["totals"], checked["counts"])
