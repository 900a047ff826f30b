"""A pytest plugin: writes what every test did, as it happens, so that a process that is ended has told so far.

Loaded with ``-p mutants.watching``; ``MUTANTS_LOG`` names the file, a line of JSON for each event.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

LOG = "MUTANTS_LOG"


class _Watching:
    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._tell(test=nodeid, began=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tell(test=report.nodeid, seconds=report.duration, failed=report.failed, skipped=report.skipped)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._tell(test=report.nodeid, seconds=0.0, failed=True, skipped=False)

    def _tell(self, **event: Any) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    if LOG in os.environ and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Watching(Path(os.environ[LOG])), "mutants-watching")
