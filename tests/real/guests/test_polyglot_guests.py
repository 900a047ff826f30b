"""Goal: the guests in Node, Go and Java lose and double nothing where nothing fails.

Method: ``zonelab try`` with each, unmodified, on three process zones. The first run of one makes its environment.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import HANGS_S

pytestmark = [pytest.mark.real, pytest.mark.packages]

JOBS = 20


@pytest.mark.parametrize(
    "guest",
    [
        pytest.param("bullmq", marks=pytest.mark.node),
        pytest.param("bee-queue", marks=pytest.mark.node),
        pytest.param("asynq", marks=pytest.mark.go),
        pytest.param("dyno-queues", marks=pytest.mark.maven),
        pytest.param("jedis-lists", marks=pytest.mark.maven),
    ],
)
def test_without_a_fault_each_job_runs_once(tmp_path: Path, guest: str) -> None:
    words = [sys.executable, "-m", "zonelab", "try", "--guest", guest, "--json", "--worker-zone", "a"]
    words += ["--set", f"programs.producer.env.JOBS={JOBS}", "--quiet", "5s", "--drain", "120s", "--load", "300s"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS_S, check=False)
    said = json.loads(done.stdout)
    assert (done.returncode, said["valid"]) == (0, True), done.stderr
    counts = said["verdict"]["sections"]["queue"]["counts"]
    assert not any(counts.values())
    assert f"{JOBS} messages were sent to the queue, and {JOBS} of them accepted" in said["sentences"][1]
