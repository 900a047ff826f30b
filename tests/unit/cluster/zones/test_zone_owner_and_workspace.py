"""Goal: only what certainly belongs to a dead lab is removed. Method: directories named after living, dead, reused and
foreign process ids."""

import os
import subprocess
import tempfile

import pytest

from zonelab.cluster.real.owner import Owner
from zonelab.cluster.real.zones.process.workspace import create_directory, remove_stale_directories
from zonelab.cluster.zone import ZoneError


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def dead_owner():
    process = subprocess.Popen(["sleep", "60"])
    owner = Owner(Owner.current().namespace, process.pid, start_ticks(process.pid))
    assert not owner.is_gone()
    process.kill()
    process.wait()
    return owner


def start_ticks(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[19])


def test_temporary_files_in_a_folder_whose_name_is_not_utf8_are_refused(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", os.fsdecode(b"/tmp/\xff"))
    with pytest.raises(ZoneError, match=r"TMPDIR: got b'/tmp/\\xff'; accepted: a directory whose name is UTF-8"):
        create_directory("a")


def test_an_owner_survives_being_written_and_read():
    owner = Owner.current()
    assert owner.pid == os.getpid()
    assert Owner.parse(str(owner)) == owner
    assert Owner.parse(f"{owner}-a-xyz") == owner


@pytest.mark.parametrize("text", ["", "1-2", "1-2-x", "zone-1-2-3", "1-2-3a"])
def test_a_name_that_says_no_owner_has_none(text):
    assert Owner.parse(text) is None


def test_an_owner_is_gone_when_its_process_ended_or_its_pid_is_another_process(dead_owner):
    current = Owner.current()
    assert not current.is_gone()
    assert dead_owner.is_gone()
    assert Owner(current.namespace, current.pid, current.start_ticks - 1).is_gone()


def test_a_process_that_ended_but_was_not_waited_for_is_gone():
    process = subprocess.Popen(["sleep", "60"])
    owner = Owner(Owner.current().namespace, process.pid, start_ticks(process.pid))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert owner.is_gone()
    process.wait()


def test_an_owner_in_another_pid_namespace_is_never_said_to_be_gone(dead_owner):
    assert not Owner(dead_owner.namespace + 1, dead_owner.pid, dead_owner.start_ticks).is_gone()


def test_stale_directories_are_removed_and_nothing_else_is(temporary, dead_owner):
    mine = create_directory("a")
    assert mine.stat().st_mode & 0o777 == 0o700
    stale = temporary / f"zonelab-{dead_owner}-b-xyz"
    (stale / "data").mkdir(parents=True)
    (stale / "data" / "file").write_text("left")
    foreign = temporary / f"zonelab-{dead_owner.namespace + 1}-{dead_owner.pid}-{dead_owner.start_ticks}-b-xyz"
    foreign.mkdir()
    target = temporary / "precious"
    target.mkdir()
    link = temporary / f"zonelab-{dead_owner}-c-xyz"
    link.symlink_to(target)
    file = temporary / f"zonelab-{dead_owner}-d-xyz"
    file.write_text("a file")
    unrelated = temporary / "zonelab-notes"
    unrelated.mkdir()
    assert remove_stale_directories() == [stale]
    assert not stale.exists()
    for kept in (mine, foreign, target, link, file, unrelated):
        assert kept.exists()
    assert remove_stale_directories() == []
