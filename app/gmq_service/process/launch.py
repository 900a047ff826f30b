"""``zonelab gmq start``, ``status`` and ``stop``: from the command line to the program and back."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from zonelab.app.gmq_service.conf_ini import TOKEN_VARIABLE
from zonelab.app.gmq_service.process.pid_file import PidFile, Serving
from zonelab.app.gmq_service.process.stopping import STEPS
from zonelab.app.gmq_service.settings import ServiceSettings
from zonelab.cluster.zone import ClusterError

STOP_MARGIN_S = 5.0
"""Beyond what the settings give to each step of a stop."""

_POLL_S = 0.02


def start(settings: ServiceSettings, *, arguments: list[str]) -> dict[str, Any]:
    """Start the program, which lives on; where it serves. ``arguments``: those of
    ``python -m zonelab.app.gmq_service``.

    Raises ``Serving`` if one runs, ``ClusterError`` if it does not begin.
    """
    pid_file = PidFile(Path(settings.pid_file))
    if (pid := pid_file.pid()) is not None:
        raise Serving(f"a service runs already (pid {pid}, {pid_file.path}); zonelab gmq stop ends it")
    environment = dict(os.environ)
    if settings.token is not None:
        environment[TOKEN_VARIABLE] = settings.token
    with tempfile.TemporaryFile() as errors:
        program = subprocess.Popen(
            [sys.executable, "-P", "-m", "zonelab.app.gmq_service", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            env=environment,
        )
        try:
            assert program.stdout is not None
            line = program.stdout.readline()
            if line:
                facts: dict[str, Any] = json.loads(line)
                return facts
        except BaseException:
            program.terminate()
            program.wait()
            raise
        program.wait()
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines()[-1:]
        raise ClusterError(said[0].removeprefix("zonelab: ") if said else "the service ended while it started")


def status(settings: ServiceSettings) -> dict[str, Any]:
    """``running``, and then what it said of itself; ``stale``: a killed one left its pid file."""
    pid_file = PidFile(Path(settings.pid_file))
    pid = pid_file.pid()
    if pid is None:
        return {"running": False, "stale": pid_file.is_stale, "pid_file": str(pid_file.path)}
    return {"running": True, **pid_file.facts(), "pid": pid, "pid_file": str(pid_file.path)}


def stop(settings: ServiceSettings) -> int | None:
    """Send SIGTERM and wait for the end; its pid, None if none runs. Raises ``ClusterError`` if it does not end."""
    pid_file = PidFile(Path(settings.pid_file))
    pid = pid_file.pid()
    if pid is None:
        return None
    os.kill(pid, signal.SIGTERM)
    deadline_s = time.monotonic() + STEPS * settings.stop_s + STOP_MARGIN_S
    while pid_file.pid() == pid:
        if time.monotonic() > deadline_s:
            raise ClusterError(f"the service (pid {pid}) does not end; its log says why")
        time.sleep(_POLL_S)
    return pid
