"""The compose tool of this machine, if it has one."""

import subprocess
from functools import cache

COMMANDS = (["docker", "compose"], ["docker-compose"])


def answers(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@cache
def compose_command() -> tuple[str, ...] | None:
    return next((tuple(command) for command in COMMANDS if answers(*command, "version")), None)
