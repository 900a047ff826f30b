"""Record of a run about itself, for ``run.json``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["complete", "interrupted", "failed"]


@dataclass(kw_only=True)
class RunRecord:
    """The facts of a run beside its tables; ``zonelab.analysis.runs.info.RunInfo`` says what they mean.

    ``phase``: the one that it is in, and the run time of its begin. ``queue``: of a queue that is known by its events
    alone. ``programs``: programs of the user's own, by process.
    """

    status: Status = "complete"
    error: str | None = None
    server: str | None = None
    phases: dict[str, tuple[int, int]] = field(default_factory=dict)
    drained: bool = False
    unread_zones: list[str] = field(default_factory=list)
    shards: dict[str, str] = field(default_factory=dict)
    phase: tuple[str, int] | None = None
    coordinators: dict[str, dict[str, Any]] = field(default_factory=dict)
    clients: dict[str, dict[str, int]] = field(default_factory=dict)
    deaths: dict[str, int] = field(default_factory=dict)
    queue: dict[str, Any] | None = None
    programs: dict[str, dict[str, Any]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)


Note = Callable[[RunRecord], None]
"""Called when more is known of a run that goes on: its shards, or the phase that begins."""


def unnoted(record: RunRecord) -> None:
    """``Note`` of runs that nobody reads before they are over."""
