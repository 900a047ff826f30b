"""``zonelab up`` and ``zonelab down``: from the command line to the supervisor and back."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO, Any

from zonelab.app.session.client import Control
from zonelab.app.session.settings import SessionSettings
from zonelab.app.session.state_file import AlreadyUp, SessionFile, StateDirectory
from zonelab.cluster.real.owner import Owner
from zonelab.cluster.real.zones import ProcessZone
from zonelab.cluster.real.zones.key_comparison import WITHIN_S
from zonelab.cluster.real.zones.signals import termination_interrupts
from zonelab.cluster.zone import ClusterError, ZoneError

DOWN_S = 30.0
"""Seconds that an orderly end may take before the supervisor gets signals."""

ANSWER_S = 5.0
"""Seconds that a supervisor may take to acknowledge a request."""

SIGNAL_S = 10.0
"""Seconds that it may take after each signal."""

_POLL_S = 0.02


def up(settings: SessionSettings, state: StateDirectory) -> dict[str, Any]:
    """Start a cluster that stays up; returns its status. Raises ``ClusterError``, and leaves nothing then."""
    try:
        clean_up(state)
    except AlreadyUp as error:
        raise AlreadyUp(_already_up(state)) from error
    with tempfile.TemporaryFile() as errors, termination_interrupts():
        supervisor = subprocess.Popen(
            [sys.executable, "-P", "-m", "zonelab.app.session"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        try:
            return _heard(supervisor, settings, errors)
        except BaseException:
            _end(supervisor)
            raise


def down(state: StateDirectory) -> dict[str, Any]:
    """End the cluster that is up, and remove what one that ended otherwise left behind. Does nothing if there is none.

    Returns ``ended``: whether one was up, ``removed``: what was left over, ``run``: its run directory, ``keys``: what
    a comparison of its zones found.
    """
    session = state.read()
    lives = session is not None and not session.supervisor.is_gone()
    keys = _ended_in_order(session, state) if session is not None and lives else []
    return {
        "ended": lives,
        "keys": keys,
        "removed": clean_up(state),
        "run": session.run if session is not None else None,
    }


def clean_up(state: StateDirectory) -> list[str]:
    """Remove what supervisors that are gone left behind, and name it. Raises ``AlreadyUp`` if one lives."""
    removed = asyncio.run(ProcessZone.remove_stale())
    with state.locked():
        session = state.read()
        if session is not None:
            if session.run_id is not None and session.kind == "docker":
                from zonelab.cluster.real.zones.docker.container import remove_leftovers

                removed += asyncio.run(remove_leftovers(session.run_id))
            removed.append(str(state.path))
        state.clear()
    return removed


def _heard(supervisor: "subprocess.Popen[bytes]", settings: SessionSettings, errors: IO[bytes]) -> dict[str, Any]:
    assert supervisor.stdin is not None
    assert supervisor.stdout is not None
    with supervisor.stdin as given:
        given.write(settings.model_dump_json().encode())
    line = supervisor.stdout.readline()
    if not line:
        supervisor.wait()
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines()[-1:]
        raise ClusterError(f"the supervisor ended while it started: {said[0] if said else 'it said nothing'}")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise ClusterError(answer["error"])
    ready: dict[str, Any] = answer["ready"]
    return ready


def _end(supervisor: "subprocess.Popen[bytes]") -> None:
    """Wait until it has cleaned up, however impatient the user is."""
    supervisor.terminate()
    deadline_s = time.monotonic() + DOWN_S
    while supervisor.poll() is None:
        try:
            supervisor.wait(timeout=max(0.1, deadline_s - time.monotonic()))
        except KeyboardInterrupt:
            continue
        except subprocess.TimeoutExpired:
            supervisor.kill()


def _already_up(state: StateDirectory) -> str:
    session = state.read()
    run = f" (run {session.run})" if session is not None and session.run else ""
    return f"a cluster is up already{run}: zonelab status shows it, zonelab down ends it"


def _ended_in_order(session: SessionFile, state: StateDirectory) -> list[str]:
    owner = session.supervisor
    keys: list[str] = []
    with contextlib.suppress(ClusterError):
        keys = Control(session, timeout_s=ANSWER_S + WITHIN_S).post("/down")["done"]
        if _gone(owner, within_s=DOWN_S):
            return keys
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(owner, number)
        if _gone(owner, within_s=SIGNAL_S):
            return keys
    raise ZoneError(f"the supervisor (pid {owner.pid}) does not end; its state is in {state.path}")


def _signal(owner: Owner, number: signal.Signals) -> None:
    if not owner.is_gone():
        os.kill(owner.pid, number)


def _gone(owner: Owner, *, within_s: float) -> bool:
    deadline_s = time.monotonic() + within_s
    while not owner.is_gone():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(_POLL_S)
    return True
