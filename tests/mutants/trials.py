"""Running tests in a copy, and what came of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mutants.copies import Copy
from mutants.watching import LOG

INSIDE = "not (real or docker or java or chromium or prometheus or registry)"
"""The tests that start no servers, containers, Spark or browsers."""

OPTIONS = ("-q", "--no-header", "--tb=line", "-p", "mutants.watching", "-p", "no:cacheprovider", "--hypothesis-seed=0")
_TAIL = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class TestsRun:
    """``failed``: tests, or modules that could not be collected. ``running``: the test that was cut short.

    ``seconds``: by test, of all that passed or failed. ``passed``: nothing failed, and nothing was cut short.
    """

    passed: bool
    failed: list[str]
    running: str | None
    seconds: dict[str, float] = field(default_factory=dict)
    output: str = ""

    @property
    def unsound(self) -> str:
        """What is to be said of a run that fails without a mutant. The reason may be no test, but a missing package."""
        return f"without a mutant these fail: {', '.join(self.failed) or 'none by name'}\n{self.output}"


def run_tests(
    copy: Copy,
    tests: Sequence[str],
    *,
    first_failure: bool,
    timeout_s: float | None = None,
    options: Sequence[str] = (),
    **variables: str,
) -> TestsRun:
    """Run ``tests`` in their order; ``variables`` are those of its environment."""
    log = copy.folder / "mutants.log"
    log.unlink(missing_ok=True)
    stop = ("-x",) if first_failure else ()
    variables[LOG] = str(log)
    ended = copy.python("-m", "pytest", *OPTIONS, *stop, *options, *tests, timeout_s=timeout_s, **variables)
    failed, seconds, running = _read(log)
    return TestsRun(
        passed=ended.code == 0,
        failed=failed,
        running=running if ended.code is None else None,
        seconds=seconds,
        output="\n".join(ended.output.splitlines()[-_TAIL:]),
    )


def _read(log: Path) -> tuple[list[str], dict[str, float], str | None]:
    failed: dict[str, None] = {}
    seconds: dict[str, float] = {}
    running = None
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        try:
            event = json.loads(line)
        except ValueError:
            break  # the process was ended while it wrote this
        name = event["test"]
        if "began" in event:
            running = name
            continue
        seconds[name] = seconds.get(name, 0.0) + event["seconds"]
        if event["failed"]:
            failed[name] = None
    return list(failed), seconds, running
