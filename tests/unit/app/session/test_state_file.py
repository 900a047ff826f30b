"""Goal: a cluster is found again by its owner alone; one directory has one cluster. Method: real files and locks."""

import contextlib
import dataclasses
import os
import stat

import pytest

from zonelab.app.session import state_file
from zonelab.app.session.client import Control, NotUp
from zonelab.app.session.launch import down
from zonelab.app.session.state_file import AlreadyUp, SessionFile, StateDirectory
from zonelab.cluster.real.owner import Owner
from zonelab.cluster.zone import ClusterError


@pytest.fixture
def state(tmp_path):
    return StateDirectory(tmp_path / "deep" / "state")


def test_the_file_and_the_directory_are_for_their_owner_only(state):
    with state.locked():
        state.write(SessionFile(owner=str(Owner.current()), token="secret"))
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (state.path, state.path / "session.json")]
    assert modes == [0o700, 0o600]
    assert state.read().token == "secret"


def test_a_directory_is_held_by_one_and_free_again_afterwards(state):
    with state.locked():
        state.write(SessionFile(owner=str(Owner.current())))
        with pytest.raises(AlreadyUp, match="zonelab down"), state.locked():
            pass
    with state.locked():
        pass


def test_the_lock_ends_with_the_process_that_holds_it(state):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with state.locked():
            os.write(writer, b"x")
            os.kill(os.getpid(), 9)
    os.read(reader, 1)
    os.waitpid(child, 0)
    with state.locked():
        pass


@pytest.mark.parametrize("file", ["left by a supervisor that was killed", "removed by one that ended in order"])
def test_a_lock_that_outlives_its_supervisor_is_waited_for(state, monkeypatch, file):
    """Of a killed process the first thread ends before the last, which closes its files."""
    with contextlib.ExitStack() as holder:
        holder.enter_context(state.locked())
        if file.startswith("left"):
            gone = dataclasses.replace(Owner.current(), start_ticks=1)
            state.write(SessionFile(owner=str(gone)))
        monkeypatch.setattr(state_file.time, "sleep", lambda s: holder.close())
        assert not down(state)["ended"]
    assert not state.path.exists()


def test_a_lock_that_nobody_lets_go_is_not_waited_for_without_end(state, monkeypatch):
    monkeypatch.setattr(state_file, "LET_GO_S", 0.0)
    with state.locked(), pytest.raises(AlreadyUp), state.locked():
        pass


def test_clearing_leaves_nothing_but_what_is_not_its_own(state):
    with state.locked():
        state.write(SessionFile(owner=str(Owner.current())))
        state.clear()
    assert not state.path.exists()
    state.clear()
    with state.locked():
        (state.path / "notes.txt").write_text("mine")
        state.clear()
    assert [path.name for path in state.path.iterdir()] == ["notes.txt"]


def test_a_directory_that_is_removed_while_somebody_waits_for_it_is_made_again(state, monkeypatch):
    removed = []
    real = os.open

    def open_and_remove(path, *rest, **more):
        descriptor = real(path, *rest, **more)
        if not removed:
            removed.append(path)
            os.rmdir(path)
        return descriptor

    monkeypatch.setattr(os, "open", open_and_remove)
    with state.locked():
        assert state.path.exists()
    assert removed == [state.path]


def test_a_file_that_cannot_be_read_is_named(state):
    with state.locked():
        (state.path / "session.json").write_text("{")
    with pytest.raises(ClusterError, match=r"session\.json cannot be read; remove it"):
        state.read()


def test_who_asks_is_told_whether_there_is_none_or_it_starts_or_was_killed(state):
    with pytest.raises(NotUp, match="no cluster is up"):
        Control.of_user(state)
    with state.locked():
        state.write(SessionFile(owner=str(Owner.current())))
        with pytest.raises(NotUp, match="has not started yet"):
            Control.of_user(state)
        here = Owner.current()
        state.write(SessionFile(owner=f"{here.namespace}-{here.pid}-{here.start_ticks + 1}"))
        with pytest.raises(NotUp, match="was killed"):
            Control.of_user(state)


def test_the_directory_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("ZONELAB_STATE", str(tmp_path / "one"))
    assert StateDirectory.of_user().path == tmp_path / "one"
    monkeypatch.delenv("ZONELAB_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "two"))
    assert StateDirectory.of_user().path == tmp_path / "two" / "zonelab"
