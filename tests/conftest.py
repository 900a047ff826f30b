"""What the machine offers decides which tests run; ``ZONELAB_REQUIRE=docker,java`` makes an absence a failure."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from functools import cache

import pytest


def _answers(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


PROBES: dict[str, tuple[Callable[[], bool], str]] = {
    "docker": (lambda: _answers("docker", "info"), "no Docker daemon answers"),
    "java": (lambda: _answers("java", "-version"), "no Java on the PATH"),
    "chromium": (lambda: shutil.which("chromium") is not None, "no Chromium on the PATH"),
}


@cache
def _missing(tool: str) -> bool:
    return not PROBES[tool][0]()


def _required() -> set[str]:
    required = {tool for tool in os.environ.get("ZONELAB_REQUIRE", "").split(",") if tool}
    if unknown := required - PROBES.keys():
        raise pytest.UsageError(f"ZONELAB_REQUIRE names {sorted(unknown)}; accepted: {sorted(PROBES)}")
    return required


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    required = _required()
    for item in items:
        for tool, (_, reason) in PROBES.items():
            if item.get_closest_marker(tool) is not None and tool not in required and _missing(tool):
                item.add_marker(pytest.mark.skip(reason=reason))


def _hear_signals() -> None:
    """A shell's background jobs ignore Ctrl-C, programs under nohup SIGHUP, and what they start inherits that."""
    for number, heard in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, heard)


def pytest_configure(config: pytest.Config) -> None:
    _hear_signals()
    for tool in sorted(_required()):
        if _missing(tool):
            raise pytest.UsageError(f"ZONELAB_REQUIRE names {tool}, but {PROBES[tool][1]}")
