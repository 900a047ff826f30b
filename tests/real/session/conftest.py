"""The ``zonelab`` command in an empty folder, and what it leaves on the machine."""

import contextlib
import io
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
import redis
from support.programs import until
from support.scenarios.short_runs import zonelab_command

from zonelab.app.cli.main import run_cli

PF_EXITING = 4
"""Among the flags of ``/proc/PID/stat``: the process is being dismantled, memory first, files later."""


class Lab:
    """A user with an empty folder, a state directory and a temporary directory of their own."""

    def __init__(self, folder, temporary):
        self.folder = folder
        self.state = folder / "state"
        self.temporary = temporary
        self.environment = {**os.environ, "ZONELAB_STATE": str(self.state), "TMPDIR": str(temporary)}
        self.environment.pop("ZONELAB_PASSWORD", None)
        self.zones = {}
        self.password = None

    def run(self, *arguments, code=0, to=None):
        """What the command prints on stdout, or on stderr if it is to fail. ``to``: a file in place of stdout."""
        out, err = to or io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(self.folder),
            patch.dict(os.environ, self.environment, clear=True),
            patch.object(tempfile, "tempdir", None),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            returned = run_cli(arguments)
        assert returned == code, (returned, err.getvalue())
        assert "Traceback" not in err.getvalue(), err.getvalue()
        return err.getvalue() if code else out.getvalue()

    def begin(self, *arguments):
        return subprocess.Popen(
            zonelab_command(*arguments),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def up(self, *arguments):
        status = json.loads(self.run("up", "--port", "0", "--time-factor", "0.05", *arguments, "--json"))
        self.zones = {zone["zone"]: zone for zone in status["zones"]}
        return status

    def status(self):
        return json.loads(self.run("status", "--json"))

    def zone(self, name):
        return next(zone for zone in self.status()["zones"] if zone["zone"] == name)

    def client(self, zone, *, of="coordinator", **options):
        """A client of a zone's coordinator, or of its server past the coordinator."""
        host, _, port = self.zones[zone][of]["address"].rpartition(":")
        options.setdefault("password", self.password if of == "coordinator" else None)
        return redis.Redis(host=host, port=int(port), decode_responses=True, socket_timeout=30, **options)

    def server(self, zone):
        return self.client(zone, of="server")

    @property
    def session(self):
        return json.loads((self.state / "session.json").read_text())

    @property
    def supervisor(self):
        return int(self.session["owner"].split("-")[1])

    @property
    def processes(self):
        """The pids of everything that was started in this folder or with this temporary directory.

        And of any process that is about to end: its environment is gone, but it may still hold files and locks, also
        when its first thread has ended and others have not.
        """
        mine = f"ZONELAB_STATE={self.state}\0".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    environment = (entry / "environ").read_bytes()
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    threads = len(list((entry / "task").iterdir()))
                except OSError:
                    continue
                state, ending = fields[0], int(fields[6]) & PF_EXITING
                if (mine in environment or ending) and (state not in "ZX" or threads > 1):
                    found.append(int(entry.name))
        return found

    until = staticmethod(until)

    def assert_nothing_is_left(self):
        self.until(lambda: not self.processes)
        assert list(self.temporary.iterdir()) == []
        assert not self.state.exists()

    def clean(self):
        for pid in self.processes:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


@contextlib.contextmanager
def begun(folder):
    with tempfile.TemporaryDirectory() as temporary:
        made = Lab(folder, Path(temporary))
        try:
            yield made
        finally:
            if made.state.exists():
                made.run("down")
            made.clean()


@pytest.fixture
def lab(tmp_path):
    with begun(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory):
    """One for all tests of a module, for a cluster that takes its time to come up."""
    with begun(tmp_path_factory.mktemp("lab")) as made:
        yield made
