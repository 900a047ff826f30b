"""Goal: no server, container or file outlives a lab, however it ends. Method: labs in programs of their own, ended in
every way; starts that fail; then a look at processes, containers and the disk."""

import asyncio
import os
import secrets
import signal
import socket
import tempfile
import threading

import pytest
from support.cluster.zones import (
    Lab,
    containers,
    eventually,
    listening_addresses,
    living_children,
    make_zone,
    stub_server,
)
from support.coroutines import coroutine

from zonelab.cluster.real.zones import ProcessZone, ProcessZoneSettings, ZoneSet, zones
from zonelab.cluster.real.zones.docker.container import remove_leftovers
from zonelab.cluster.zone import Restart, ZoneError, ZoneState

ENDINGS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where temporary directories go, here and in labs."""
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def run_id():
    return f"test-{secrets.token_hex(4)}"


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_lab_that_is_interrupted_or_terminated_leaves_nothing(kind, temporary, run_id, ending, loop):
    lab = Lab("hold", temporary=temporary, kind=kind, argument=run_id, loop=loop)
    lab.send(ending)
    code, errors = lab.wait()
    assert code != 0
    assert "KeyboardInterrupt" in errors
    assert lab.servers_gone()
    assert lab.left_on_disk() == []
    if kind == "docker":
        assert containers(run_id) == []


def test_a_lab_whose_interrupt_is_ignored_still_cleans_up_when_it_is_terminated(kind, temporary, run_id):
    default = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        lab = Lab("hold", temporary=temporary, kind=kind, argument=run_id)
    finally:
        signal.signal(signal.SIGINT, default)
    lab.send(signal.SIGTERM)
    code, _ = lab.wait()
    assert code != 0
    assert lab.servers_gone()
    assert lab.left_on_disk() == []
    if kind == "docker":
        assert containers(run_id) == []


@pytest.mark.parametrize("what", ["fail", "forget"])
def test_a_lab_that_fails_in_the_middle_or_forgets_to_stop_leaves_nothing(kind, temporary, run_id, what):
    lab = Lab(what, temporary=temporary, kind=kind, argument=run_id)
    code, errors = lab.wait()
    assert (code, "RuntimeError: in the middle" in errors) == ((1, True) if what == "fail" else (0, False))
    assert lab.servers_gone()
    assert lab.left_on_disk() == []
    if kind == "docker":
        assert containers(run_id) == []


@pytest.mark.real
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_lab_that_is_interrupted_while_its_zones_start_leaves_nothing(temporary, tmp_path, ending):
    binary = stub_server(tmp_path / "slow", then=f"echo $$ >> {tmp_path / 'pids'}; exec sleep 300")
    lab = Lab("hang", temporary=temporary, argument=str(binary))
    asyncio.run(eventually(lambda: (tmp_path / "pids").exists() and len((tmp_path / "pids").read_text().split()) == 3))
    lab.said["pids"] = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    lab.send(ending)
    code, _ = lab.wait()
    assert code != 0
    assert lab.servers_gone()
    assert lab.left_on_disk() == []


@pytest.mark.real
@coroutine
async def test_servers_die_with_a_killed_lab_and_the_next_one_removes_its_files(temporary):
    lab = Lab("hold", temporary=temporary)
    lab.send(signal.SIGKILL)
    lab.wait()
    assert lab.servers_gone()
    assert len(lab.left_on_disk()) == 3
    async with zones("process", ["a"]) as zone_set:
        assert [path for path in lab.left_on_disk() if path != zone_set["a"].directory] == []
    assert lab.left_on_disk() == []


@pytest.mark.docker
def test_the_next_lab_removes_the_containers_of_a_killed_one_and_no_others(zone_image, temporary, run_id):
    lab = Lab("hold", temporary=temporary, kind="docker", argument=run_id)
    try:
        alive = f"{run_id}-alive"

        async def next_lab():
            async with zones("docker", ["a"], run_id=alive):
                assert len(containers(run_id)) == 3
                lab.send(signal.SIGKILL)
                lab.wait()
                await remove_leftovers()  # Another lab on this machine may have removed some by now, and names them.
                assert containers(run_id) == []
                assert containers(alive) == [f"zonelab-{alive}-a"]

        asyncio.run(next_lab())
    finally:
        lab.process.kill()
        asyncio.run(remove_leftovers(run_id))


@pytest.mark.docker
@coroutine
async def test_the_containers_of_one_run_can_be_removed_by_its_id(zone_image, run_id):
    async with zones("docker", ["a", "b"], run_id=run_id) as zone_set:
        assert await remove_leftovers(run_id) == [f"zonelab-{run_id}-a", f"zonelab-{run_id}-b"]
        await eventually(lambda: zone_set["a"].state is ZoneState.DEAD)
    assert containers(run_id) == []


@pytest.fixture
def children_before():
    """Servers of session-wide fixtures are children of this process too."""
    return living_children()


def test_children_are_found_while_threads_come_and_go(children_before):
    """A thread that had ended between two looks at ``/proc`` failed the tests below."""
    ended = threading.Event()

    def begin_threads():
        while not ended.is_set():
            one = threading.Thread(target=int)
            one.start()
            one.join()

    beginner = threading.Thread(target=begin_threads)
    beginner.start()
    try:
        assert [found for _ in range(1_000) if (found := living_children()) != children_before] == []
    finally:
        ended.set()
        beginner.join()


@pytest.fixture
def taken_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_when_one_port_is_taken_the_error_names_it_and_the_other_zones_are_gone(
    kind, temporary, taken_port, run_id, children_before
):
    extra = {"run_id": run_id} if kind == "docker" else {}
    zone_set = ZoneSet(
        [make_zone(kind, "a", **extra), make_zone(kind, "b", **extra), make_zone(kind, "c", port=taken_port, **extra)]
    )
    with pytest.raises(
        ZoneError, match=rf"^port {taken_port} of 127\.0\.0\.1 cannot be used: another program listens on it$"
    ):
        asyncio.run(enter(zone_set))
    assert [zone.state for zone in zone_set] == [ZoneState.STOPPED] * 3
    assert list(temporary.iterdir()) == []
    assert living_children() == children_before
    if kind == "docker":
        assert containers(run_id) == []


async def enter(zone_set):
    async with zone_set:
        raise AssertionError("started")


@pytest.mark.real
def test_a_server_that_ends_at_once_is_reported_with_its_last_words_and_leaves_nothing(
    temporary, tmp_path, children_before
):
    binary = stub_server(tmp_path / "ends", then="echo fatal: no luck today; exit 3")
    with pytest.raises(ZoneError, match=r"^zone a: the server ended while it started: fatal: no luck today$"):
        asyncio.run(enter(zones("process", ["a"], binary=binary)))
    assert list(temporary.iterdir()) == []
    assert living_children() == children_before


@pytest.mark.real
def test_a_server_that_never_answers_is_given_up_and_leaves_nothing(temporary, tmp_path, children_before):
    binary = stub_server(tmp_path / "mute", then="exec sleep 300")
    zone = ProcessZone("a", ProcessZoneSettings(binary=binary, start_timeout_s=0.2))
    with pytest.raises(
        ZoneError, match=r"^zone a: the server did not answer PING at 127\.0\.0\.1:\d+ in 0\.2 s: it logged nothing$"
    ):
        asyncio.run(enter(ZoneSet([zone])))
    assert list(temporary.iterdir()) == []
    assert living_children() == children_before


@pytest.mark.real
@coroutine
async def test_a_failed_restart_leaves_the_zone_dead_and_it_can_be_tried_again(temporary):
    zone = ProcessZone("b")
    async with ZoneSet([zone]):
        await zone.kill()
        (zone.directory / "data").rename(zone.directory / "moved")
        with pytest.raises(ZoneError, match=r"^zone b: the server cannot be started: .*No such file or directory"):
            await zone.restart(Restart.KEEP)
        assert zone.state is ZoneState.DEAD
        (zone.directory / "moved").rename(zone.directory / "data")
        await zone.restart(Restart.KEEP)
    assert list(temporary.iterdir()) == []


@pytest.mark.real
@coroutine
async def test_files_are_for_the_owner_only_and_the_server_listens_on_loopback_only():
    zone = ProcessZone("a")
    async with ZoneSet([zone]):
        assert zone.directory.stat().st_mode & 0o777 == 0o700
        assert listening_addresses(zone.address.port) == ["0100007F"]
        assert zone.socket == str(zone.directory / "server.sock")
        assert os.stat(zone.socket).st_mode & 0o777 == 0o700
    assert zone.socket is None


@pytest.mark.docker
def test_without_a_docker_daemon_one_line_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(ZoneError) as caught:
        asyncio.run(enter(zones("docker", ["a", "b"])))
    where = f"unix://{tmp_path}/none.sock"
    reason = "No such file or directory"
    assert str(caught.value) == f"Docker does not answer at {where}: start it, or use --on process ({reason})"


@pytest.mark.docker
def test_a_missing_image_is_one_line_that_names_the_command_and_leaves_nothing(run_id):
    with pytest.raises(ZoneError) as caught:
        asyncio.run(enter(zones("docker", ["a"], image="zonelab-none:0", run_id=run_id)))
    assert str(caught.value) == (
        "zone a: image zonelab-none:0 is not on this machine: run zonelab image for the default one"
    )
    assert containers(run_id) == []
