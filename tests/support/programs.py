"""Programs of our own that tests start, and that say in one line of JSON that they are ready."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping

END_DEADLINE_S = 60.0


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
            _, errors = self.process.communicate(timeout=END_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, errors
