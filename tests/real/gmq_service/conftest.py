"""The program of ``zonelab gmq`` in a folder of its own, on a real server."""

import asyncio
import json
import os
import signal
import subprocess

import pytest
import redis
from support.programs import HANGS_S
from support.scenarios.short_runs import zonelab_command

from zonelab.app.gmq_service.process.pid_file import PidFile
from zonelab.cluster.real.zones import ProcessZone, ZoneSet


class Service:
    """A folder with a configuration, and command lines in it."""

    def __init__(self, folder, server_port):
        self.folder, self.server_port = folder, server_port
        self.configure()

    def configure(self, *, buckets=3, **options):
        """``buckets`` of either kind; other ``options`` are those of the section ``service``."""
        told = {"rpc": "127.0.0.1:0", "api": "127.0.0.1:0", "web": "127.0.0.1:0", "stop_s": 30} | options
        lines = [f"{name}={value}" for name, value in told.items()]
        redis_lines = f"[redis]\nport={self.server_port}\ncommand_ms=1000\n"
        bucket_lines = f"[bucket]\nnum={buckets}\n"
        (self.folder / "gmq.ini").write_text(f"{redis_lines}{bucket_lines}[service]\n" + "\n".join(lines) + "\n")

    def zonelab(self, *words):
        """Exit code, and what was said: JSON, or the line on stderr."""
        command = zonelab_command("gmq", *words)
        ended = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=HANGS_S, check=False)
        return ended.returncode, json.loads(ended.stdout) if not ended.returncode else ended.stderr

    def start(self, *words):
        code, told = self.zonelab("start", "--json", *words)
        assert code == 0, told
        return told

    def stop(self):
        return self.zonelab("stop", "--json")

    @property
    def log(self):
        return (self.folder / "gmq.log").read_text()


@pytest.fixture(scope="module")
def server():
    zone = ProcessZone("gmq")
    with asyncio.Runner() as runner:
        zones = ZoneSet([zone])
        runner.run(zones.__aenter__())
        yield zone, runner
        runner.run(zones.__aexit__(None, None, None))


@pytest.fixture
def service(server, tmp_path):
    zone, _ = server
    with redis.Redis(port=zone.address.port) as connection:
        connection.flushall()
    service = Service(tmp_path, zone.address.port)
    yield service
    pid = PidFile(tmp_path / "gmq.pid").pid()
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
