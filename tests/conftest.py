"""What the machine offers decides which tests run; ``ZONELAB_REQUIRE=docker,java`` makes an absence a failure."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support.compose import answers, compose_command
from support.wheel_environment import is_made

settings.register_profile("zonelab", settings(), deadline=None)  # how long an example takes is up to the machine
settings.load_profile("zonelab")
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def _on_path(*tools: str) -> bool:
    return all(shutil.which(tool) is not None for tool in tools)


PROBES: dict[str, tuple[Callable[[], bool], str]] = {
    "docker": (lambda: answers("docker", "info"), "no Docker daemon answers"),
    "compose": (lambda: compose_command() is not None, "neither docker compose nor docker-compose answers"),
    "java": (lambda: answers("java", "-version"), "no Java on the PATH"),
    "registry": (is_made, "make wheel-test could not make its environment: no package registry"),
    "chromium": (lambda: shutil.which("chromium") is not None, "no Chromium on the PATH"),
    "prometheus": (lambda: shutil.which("prometheus") is not None, "no Prometheus on the PATH"),
    "node": (lambda: _on_path("node", "npm"), "no Node with npm on the PATH"),
    "go": (lambda: _on_path("go"), "no Go on the PATH"),
    "maven": (lambda: _on_path("mvn", "javac"), "no Maven with a Java compiler on the PATH"),
    "packages": (lambda: answers(*_PIP, "index", "versions", "rq"), "no package registry answers pip"),
}
# Whoever requires the one requires the others with it.
BROUGHT_ALONG = {"docker": ["compose"]}


@cache
def _missing(tool: str) -> bool:
    return not PROBES[tool][0]()


def _required() -> set[str]:
    required = {tool for tool in os.environ.get("ZONELAB_REQUIRE", "").split(",") if tool}
    if unknown := required - PROBES.keys():
        raise pytest.UsageError(f"ZONELAB_REQUIRE names {sorted(unknown)}; accepted: {sorted(PROBES)}")
    return required.union(*(BROUGHT_ALONG.get(tool, []) for tool in required))


LONGEST = ("java", "registry")
"""Marks of the files that take longest, which come first: at the end all would wait for them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = dict[Path, int]()
    for item in items:
        marked = (place for place, mark in enumerate(LONGEST) if item.get_closest_marker(mark) is not None)
        rank[item.path] = min(rank.get(item.path, len(LONGEST)), *marked, len(LONGEST))
    items.sort(key=lambda item: rank[item.path])
    required = _required()
    for item in items:
        for tool, (_, reason) in PROBES.items():
            if item.get_closest_marker(tool) is not None and tool not in required and _missing(tool):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def quiet_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no line say that work goes on because the machine is busy; tests of such lines set their own time."""
    monkeypatch.setattr("zonelab.studies.reporting.progress.SILENT_S", 3_600.0)


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Carry a coroutine out; folders whose tests share an event loop have another one."""
    return asyncio.run


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
