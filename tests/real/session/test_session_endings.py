"""Goal: however a cluster of ``zonelab up`` ends, or fails to begin, nothing of it stays that cannot be removed.

Method: signals to the processes that the command line started; then processes, files and ports are looked for.
"""

import contextlib
import os
import signal
import socket
import time

import docker
import pyarrow.parquet as pq
import pytest
import redis
from support.app.every_verb import VERBS, line
from support.programs import HANGS_S

from zonelab.app.session import launch
from zonelab.cluster.real.zones.docker.zone_image import build_image

pytestmark = pytest.mark.real


def test_it_stays_up_until_it_is_taken_down_and_going_down_again_does_nothing(lab):
    lab.up()
    assert "a cluster is up already" in lab.run("up", code=3)
    assert "zonelab report" in lab.run("down")
    assert lab.run("down") == "no cluster is up\n"
    assert "no cluster is up" in lab.run("status", code=3)
    assert "no cluster is up" in lab.run("heal", code=3)
    assert "no cluster is up" in lab.run("fault", "cut", "a", code=3)
    lab.assert_nothing_is_left()


def test_a_port_in_use_is_named_and_nothing_is_started(lab):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = lab.run("up", "--port", str(port), code=3)
    assert f"port {port} of 127.0.0.1" in said
    assert "--port 0 for free ones" in said
    assert said.count("\n") == 1
    lab.assert_nothing_is_left()
    assert not (lab.folder / "runs").exists()


def test_a_closed_pipe_ends_every_verb_of_a_cluster_with_141(lab):
    def ends(*words):
        reader, writer = os.pipe()
        os.close(reader)
        # Closing it would write once more what it still holds.
        closed = open(writer, "w", closefd=False)  # noqa: SIM115
        assert lab.run(*words, code=141, to=closed) == ""
        os.close(writer)

    ends("up", "--port", "0")
    faults = [verb for verb in VERBS if verb.startswith("fault ") and verb != "fault end"]
    assert len(faults) >= 10
    for verb in ["status", *faults]:
        ends(*line(verb))
        ends("heal")
    lab.run("fault", "cut", "a")
    (fault,) = lab.status()["faults"]
    ends("fault", "end", str(fault["number"]))
    ends("down")
    lab.assert_nothing_is_left()


def test_without_docker_container_zones_are_refused_in_one_line(lab):
    lab.environment["DOCKER_HOST"] = f"unix://{lab.folder}/nobody.sock"
    said = lab.run("up", "--on", "docker", "--port", "0", code=3)
    assert "Docker does not answer" in said
    assert said.count("\n") == 1
    lab.assert_nothing_is_left()


@pytest.mark.parametrize("after", ["--port", "supervisor", "server"])
def test_ctrl_c_while_it_starts_leaves_nothing(lab, after):
    process = lab.begin("up", "--port", "0")
    if after == "supervisor":
        lab.until(lambda: (lab.state / "session.json").exists() or process.poll() is not None)
    elif after == "server":
        lab.until(lambda: any(lab.temporary.iterdir()) or process.poll() is not None)
    else:
        lab.until(lambda: len(lab.processes) >= 1)
        time.sleep(1.0)  # somewhere within its imports
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANGS_S)
    assert process.returncode in (2, -signal.SIGINT), err
    lab.assert_nothing_is_left()


def test_a_supervisor_that_is_killed_takes_everything_along_but_files_which_the_next_down_removes(lab):
    lab.up()
    lab.run("fault", "cut", "b")
    pid = lab.supervisor
    os.kill(pid, signal.SIGKILL)
    lab.until(lambda: not lab.processes)
    assert "was killed" in lab.run("status", code=3)
    assert "removed" in lab.run("down")
    lab.assert_nothing_is_left()
    run = lab.folder / "runs" / "session" / "latest"
    assert [row["fault"] for row in pq.read_table(run / "faults.parquet").to_pylist()] == ["1:cut b"]
    lab.run("report", str(run))
    assert "not ended" in (run / "report.html").read_text()


def test_a_cluster_begins_where_one_was_killed(lab):
    lab.up("--zones", "2")
    os.kill(lab.supervisor, signal.SIGKILL)
    lab.until(lambda: not lab.processes)
    lab.up("--zones", "1")
    with lab.client("a") as client:
        assert client.set("k", "v")
    lab.run("down")
    lab.assert_nothing_is_left()


def test_a_supervisor_that_is_told_to_end_ends_in_order(lab):
    lab.up("--zones", "2")
    os.kill(lab.supervisor, signal.SIGTERM)
    lab.assert_nothing_is_left()
    verbs = pq.read_table(lab.folder / "runs" / "session" / "latest" / "verbs.parquet").to_pylist()
    assert [row["verb"] for row in verbs] == ["up", "down"]


def test_a_supervisor_that_does_not_answer_is_taken_down_all_the_same(lab, monkeypatch):
    monkeypatch.setattr(launch, "ANSWER_S", 0.5)
    monkeypatch.setattr(launch, "SIGNAL_S", 0.5)
    lab.up("--zones", "2")
    os.kill(lab.supervisor, signal.SIGSTOP)
    lab.run("down")
    lab.assert_nothing_is_left()


def test_a_coordinator_or_server_that_dies_by_itself_is_seen_and_healed(lab):
    lab.up("--zones", "2")
    os.kill(lab.zone("b")["coordinator"]["pid"], signal.SIGKILL)
    lab.until(lambda: lab.status()["faults"])
    assert lab.zone("b")["coordinator"]["state"] == "dead"
    lab.until(lambda: lab.zone("a")["statistics"]["connected"] == {"a": True, "b": False})
    with lab.server("a") as server_a:
        server_a.shutdown(nosave=True)
    lab.until(lambda: lab.zone("a")["server"]["state"] == "dead")
    assert lab.run("heal").startswith("ended 1:coordinator_crash b\nrestarted zone a\nno key differs between the zones")
    with lab.client("b") as client:
        lab.until(lambda: all(lab.zone("b")["statistics"]["connected"].values()))
        assert client.set("k", "v")


@pytest.mark.docker
def test_containers_of_a_supervisor_that_was_killed_are_removed_by_the_next_down(lab):
    build_image()
    lab.up("--zones", "2", "--on", "docker")
    with lab.client("a") as a, lab.client("b") as b:
        a.set("k", "v")
        assert b.get("k") == "v"
        lab.run("fault", "kill", "b")
        assert lab.zone("b")["server"]["state"] == "dead"
        lab.run("fault", "restart", "b")
        assert lab.until(lambda: served(b, "k")) == "v"
    names = {f"zonelab-{lab.session['run_id']}-{zone}" for zone in "ab"}
    assert names <= containers()
    os.kill(lab.supervisor, signal.SIGKILL)  # From now on any other lab on this machine may remove them, too.
    lab.until(lambda: not lab.processes)
    lab.run("down")
    lab.assert_nothing_is_left()
    assert not names & containers()


def served(client, key):
    """The value, None if the coordinator does not reach its server: Docker's proxy accepts before that does."""
    with contextlib.suppress(redis.ResponseError):
        return client.get(key)


def containers():
    with contextlib.closing(docker.from_env()) as client:
        return {container.name for container in client.containers.list(all=True, ignore_removed=True)}
