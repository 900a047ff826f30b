"""Logs of events as programs would write them, for tests of what is judged by them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

T0_NS = 1_764_390_000_000_000_000

Line = tuple[float, str, str, str] | tuple[float, str, str, str, dict[str, Any]]
"""Milliseconds, op, id, program, and what else the event says."""

HEADER = {"format": "zonelab-events", "version": 1, "drained": True}


def sound(message: str, *, at_ms: float = 0, worker: str = "w1") -> list[Line]:
    """Return the events of a message that was pushed, worked on once and finished."""
    return [
        (at_ms, "push", message, "producer"),
        (at_ms + 1, "accepted", message, "producer"),
        (at_ms + 5, "begin", message, worker),
        (at_ms + 9, "end", message, worker),
    ]


def write_log(path: Path, lines: Iterable[Line], *, drained: bool = True) -> Path:
    """Write a log of ``lines``, in their order."""
    events = [HEADER] if drained else []
    for at_ms, op, message, program, *more in lines:
        event = {"op": op, "id": message, "t_ns": T0_NS + round(at_ms * 1e6), "program": program}
        events.append(event | (more[0] if more else {}))
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return path
