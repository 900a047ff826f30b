"""The process behind ``zonelab up``: it owns the cluster, and with it the cluster ends, however it ends.

The servers and the coordinators are its children and die with it (prctl(2), PR_SET_PDEATHSIG). What may be left then,
temporary directories and containers, bears its name and is removed by the next ``zonelab up`` or ``zonelab down``.
"""

import asyncio
import json
import os
import secrets
import signal
import socket
import sys
from typing import Any

from zonelab.app.session.control_api import control_app
from zonelab.app.session.session import TOKEN_BYTES, Session, session
from zonelab.app.session.settings import SessionSettings
from zonelab.app.session.state_file import SessionFile, StateDirectory
from zonelab.cluster.admin.serving import Bounds, listening, serving_at
from zonelab.cluster.real.owner import Owner
from zonelab.cluster.zone import ClusterError


def main() -> int:
    """Read ``SessionSettings`` from stdin; write to stdout one line of JSON, ``ready`` or ``error``, and go on."""
    settings = SessionSettings.model_validate_json(sys.stdin.read())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        asyncio.run(_supervise(settings, StateDirectory.of_user()))
    except ClusterError as error:
        _tell({"error": str(error)})
        return 3
    except OSError as error:
        _tell({"error": f"{error.filename or 'zonelab'}: {error.strerror or error}"})
        return 3
    except asyncio.CancelledError:
        return 2
    return 0


async def _supervise(settings: SessionSettings, state: StateDirectory) -> None:
    _cancel_on_termination()
    run_id, owner = secrets.token_hex(4), str(Owner.current())
    with state.locked():
        file = SessionFile(owner=owner, kind=settings.kind, run_id=run_id)
        state.write(file)
        try:
            # Taken first: a port that is not free is known before anything has been started.
            with listening("127.0.0.1", settings.monitor_port, what="the live page") as listener:
                async with session(settings, run_id=run_id) as made:
                    await _serve(made, state, file, listener)
        finally:
            state.clear()


async def _serve(made: Session, state: StateDirectory, file: SessionFile, listener: socket.socket) -> None:
    ending, token = asyncio.Event(), secrets.token_urlsafe(TOKEN_BYTES)
    app = control_app(made, token=token, ending=ending)
    async with serving_at(app, listener, bounds=Bounds(token=token)) as address:
        known = {"control": f"http://{address}", "token": token, "run": str(made.recording.directory)}
        state.write(file.model_copy(update=known))
        made.recording.verb("up", made.settings.recorded())
        _tell({"ready": await made.status()})
        try:
            await ending.wait()
        except asyncio.CancelledError:
            made.recording.verb("down", {"asked by": "a signal"})
        finally:
            made.feed.close()


def _cancel_on_termination() -> None:
    """The first SIGTERM or SIGINT cancels what is being done; while the clean-up runs, others change nothing."""
    main_task = asyncio.current_task()
    assert main_task is not None
    asked: list[int] = []

    def cancel(number: int) -> None:
        asked.append(number)
        if len(asked) == 1:
            main_task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, cancel, number)


def _tell(answer: dict[str, Any]) -> None:
    """The command line hears one line. One that has gone meanwhile ends the supervisor: nobody wants the cluster."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
