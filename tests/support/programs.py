"""Programs of our own that tests start, that say in one line of JSON that they are ready; and waiting for them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

HANGS_S = 600.0
"""A program that takes longer hangs. It is far more than a busy machine needs, as no verdict is to depend on that."""

T = TypeVar("T")


def until(condition: Callable[[], T], *, patience_s: float = HANGS_S) -> T:
    """Wait until ``condition()`` holds, and return what it gave; fails if it never does."""
    deadline_s = time.monotonic() + patience_s
    while not (found := condition()):
        assert time.monotonic() < deadline_s, f"waited {patience_s:g} s in vain"
        time.sleep(0.02)
    return found


class Program:
    """A Python program; ``said`` is what its first line was. Raises ``AssertionError`` if it ends before it."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        self.said = json.loads(line)

    def wait(self) -> tuple[int, str]:
        """Exit code and what the program wrote to stderr; it is killed if it does not end."""
        try:
            _, errors = self.process.communicate(timeout=HANGS_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, errors
