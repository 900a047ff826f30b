"""Goal: the service writes into its own files alone: it follows no link, and empties no file that is somebody's.

Method: what lies at the places of the pid file, of the file beside it and of the logs when the service begins.
"""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from zonelab.app.gmq_service.process.log_file import log_as_told
from zonelab.app.gmq_service.process.pid_file import PidFile
from zonelab.app.gmq_service.settings import ServiceSettings
from zonelab.cluster.zone import ClusterError

PRECIOUS = "not to be lost\n"


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_text(PRECIOUS)
    return path


@pytest.fixture
def pid_file(tmp_path: Path) -> PidFile:
    return PidFile(tmp_path / "gmq.pid")


@pytest.fixture
def handlers() -> Iterator[list[logging.Handler]]:
    handlers = logging.getLogger("gmq").handlers
    before = list(handlers)
    yield handlers
    for handler in [one for one in handlers if one not in before]:
        handler.close()
        handlers.remove(handler)


def refused(pid_file: PidFile) -> str:
    with pytest.raises(ClusterError) as error, pid_file.held():
        pytest.fail("it is held")
    return str(error.value)


def test_no_link_is_followed(pid_file: PidFile, precious: Path):
    pid_file.path.symlink_to(precious)
    assert refused(pid_file) == f"the pid file {pid_file.path}: got a link; accepted: a regular file"
    with pytest.raises(ClusterError, match="got a link"):
        pid_file.pid()
    assert precious.read_text() == PRECIOUS
    assert pid_file.path.is_symlink()


@pytest.mark.parametrize("content", [PRECIOUS, "12 34", "9" * 40, "-1"])
def test_a_file_that_holds_no_number_is_left_alone(pid_file: PidFile, content: str):
    pid_file.path.write_text(content)
    assert "got a file that holds no number" in refused(pid_file)
    assert pid_file.path.read_text() == content
    assert pid_file.pid() is None


def test_a_hard_link_is_a_file_like_others(pid_file: PidFile, precious: Path):
    os.link(precious, pid_file.path)
    assert "got a file that holds no number" in refused(pid_file)
    assert precious.read_text() == PRECIOUS


def test_what_is_no_file_is_refused_at_once(pid_file: PidFile):
    os.mkfifo(pid_file.path)
    assert "not a regular file" in refused(pid_file)


@pytest.mark.parametrize("content", ["", "4194304\n", "17"])
def test_what_a_killed_service_left_is_taken_over(pid_file: PidFile, content: str):
    pid_file.path.write_text(content)
    with pid_file.held():
        assert pid_file.path.read_text() == f"{os.getpid()}\n"
        pid_file.tell({"pid": os.getpid()})
        assert pid_file.facts() == {"pid": os.getpid()}
    assert not pid_file.path.exists()


def test_the_file_beside_it_is_no_link_and_nobody_elses(pid_file: PidFile, precious: Path):
    beside = pid_file.path.with_name("gmq.pid.json")
    beside.symlink_to(precious)
    assert "not a file that a service wrote" in refused(pid_file)
    beside.unlink()
    os.mkfifo(beside)
    assert "not a file that a service wrote" in refused(pid_file)
    beside.unlink()
    beside.write_text(PRECIOUS)
    assert "not a file that a service wrote" in refused(pid_file)
    assert (precious.read_text(), beside.read_text()) == (PRECIOUS, PRECIOUS)
    beside.write_text('{"pid": 1}')
    with pid_file.held():
        assert pid_file.facts() == {}


def test_a_file_beside_it_that_was_cut_short_counts_as_left_over_and_is_told(pid_file: PidFile):
    beside = pid_file.path.with_name("gmq.pid.json")
    with pid_file.held() as left_over:
        assert left_over is None
        pid_file.tell({"pid": os.getpid(), "mode": "redis"})
        whole = beside.read_bytes()
    for end in range(len(whole)):
        beside.write_bytes(whole[:end])
        is_whole = end == len(whole) - 1  # all but the end of the line
        with pid_file.held() as left_over:
            assert left_over == (None if is_whole else f"{beside} was cut short; it is written anew")
            assert not beside.exists()


def test_facts_appear_whole_or_not_at_all_and_follow_no_link(pid_file: PidFile, precious: Path):
    with pid_file.held():
        pid_file.path.with_name("gmq.pid.json.partial").symlink_to(precious)
        with pytest.raises(TypeError):
            pid_file.tell({"pid": os.getpid(), "mode": object()})
        pid_file.tell({"pid": 1})
        assert pid_file.facts() == {"pid": 1}
        assert {path.name for path in pid_file.path.parent.iterdir()} == {"gmq.pid", "gmq.pid.json", precious.name}
    assert precious.read_text() == PRECIOUS


@pytest.mark.parametrize("name", ["gmq.log", "gmq.log.3"])
@pytest.mark.parametrize("kind", ["link", "other file", "FIFO"])
def test_a_log_is_no_link_and_no_other_file(
    name: str, kind: str, tmp_path: Path, precious: Path, handlers: list[logging.Handler]
):
    path, before = tmp_path / name, list(handlers)
    match kind:
        case "link":
            path.symlink_to(precious)
        case "other file":
            path.write_text(PRECIOUS)
        case _:
            os.mkfifo(path)
    with pytest.raises(ClusterError, match=f"the log {path}: "):
        log_as_told(ServiceSettings(log_file=str(tmp_path / "gmq.log"), log_targets=("file",)), console=False)
    assert handlers == before
    assert precious.read_text() == PRECIOUS
    assert kind != "other file" or path.read_text() == PRECIOUS


def test_a_log_of_the_original_is_continued(tmp_path: Path, handlers: list[logging.Handler]):
    path = tmp_path / "gmq.log"
    path.write_text("[T] [rpc] [2020-01-01 00:00:00] old\n")
    log_as_told(ServiceSettings(log_file=str(path), log_targets=("file",)), console=False)
    logging.getLogger("gmq.test").error("new")
    old, new = path.read_text().splitlines()
    assert old.endswith("old")
    assert new.endswith("new")
