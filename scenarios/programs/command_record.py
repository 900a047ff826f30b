"""Record of the commands that a process sends: of one job, they are the path that it takes."""

import json
from collections.abc import Callable
from pathlib import Path

from zonelab.cluster.resp.programs.hold import shortened

COMMANDS_MAX = 200_000
"""Commands of one process that are recorded; a last line says that there were more."""


class CommandRecord:
    """Record in the file ``path``: a line of JSON for each command, with time, connection and words cut short.

    ``wall_ns`` returns the time.
    """

    def __init__(self, path: Path, *, wall_ns: Callable[[], int], most: int = COMMANDS_MAX) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._wall_ns = wall_ns
        self._left = most

    def add(self, peer: str, command: bytes) -> None:
        """Record ``command``, in wire form, from the address ``peer``."""
        if self._left > 0:
            line = {"t_ns": self._wall_ns(), "connection": peer, "command": shortened(command)}
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        elif self._left == 0:
            self._file.write('{"cut": true}\n')
        self._left -= 1

    def close(self) -> None:
        """Write what is left and close the file; what comes then is not recorded."""
        self._left = -1
        self._file.close()
