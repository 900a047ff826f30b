"""``run.json``: what was run, when, on what, and how it ended. Imports nothing that is slow to load."""

from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import from_json

from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass, lacking_means
from zonelab.analysis.runs.errors import KILLED, CutOff, RunError, TooNew, reading
from zonelab.analysis.runs.order_rules import OrderRules
from zonelab.analysis.runs.owner import RunOwner
from zonelab.analysis.units import NS_PER_MS

FORMAT = 2
"""Version of a run directory: 1 had each table in one file that had no footer until the run was over."""


class QueueInfo(BaseModel):
    """Which engine ran, which zone serves each shard, and what the engine promises (``zonelab.engine.queue.Features``).

    ``early_ms_max``: how long before it is due it may serve a message. ``lease_ms``: how long a lease lasts.
    ``end_state``: what the zones held at the end was looked for. ``unstated``: classes of which the record of a queue
    that is known by its events alone says nothing. ``instants``: operations of which it has one moment, so that nobody
    knows how long they took.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    engine: str
    shards: dict[str, str]
    early_ms_max: int = 1
    leases: bool = True
    priorities: bool = True
    order: bool = False
    lease_ms: int | None = None
    end_state: bool = True
    unstated: tuple[MessageClass, ...] = ()
    instants: tuple[str, ...] = ()

    @property
    def not_judged(self) -> tuple[MessageClass, ...]:
        """The classes for which the engine, or its record, lacks the means."""
        lacking = lacking_means(leases=self.leases, priorities=self.priorities, order=self.order)
        return tuple(dict.fromkeys((*lacking, *self.unstated)))


class SessionInfo(BaseModel):
    """A cluster that somebody used by hand: clients and what they did are unknown, so there is nothing to judge."""

    model_config = ConfigDict(extra="allow", frozen=True)

    zones: tuple[str, ...]
    lag: str
    time_factor: float


class WorkloadInfo(BaseModel):
    """The clients' kind of work where it was not a queue, a ``zonelab.analysis.workloads.WorkloadKind``, and the
    forbidden classes. Of a history that another program recorded: ``unstated``, the classes of which it does not say
    enough, and ``end_state``, whether it says what there was at the end.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str
    forbid: tuple[str, ...]
    unstated: tuple[str, ...] = ()
    end_state: bool = True
    budget_configurations: int = 200_000


def _known_class(name: object) -> object:
    if name not in set(MessageClass):
        raise ValueError(f"{name!r} is not a message class; known are {', '.join(MessageClass)}")
    return name


class RunInfo(BaseModel):
    """``run.json``: what was run, when, on what, and how it ended.

    ``format``: ``FORMAT`` when it was written. ``run_id``: 16 hexadecimal digits, other in every
    run; of runs of format 1 made from their ``run.json``. ``status``: ``running`` only while its ``owner`` lives, if it
    can be told; a run whose lab was killed is ``interrupted``. ``segments``: how many each table has, once it is over.
    ``program``: a fingerprint of all source files, those of a queue of the user's own included.
    ``epoch_ns`` ties the two clocks of a run together: wall clock in ns = ``epoch_ns`` + run time in ns.
    ``phases`` maps a phase to its begin and end in run time (ns). ``drained``: the queue ran empty within its bound.
    ``deaths``: run time (ns) at which a consumer's program died, by program. ``late_ms``: how late after its due time a
    message may be delivered; None: as late as it comes.
    ``doubts``: contradictions in the record of the run, in words.
    ``clients``: what the client policy did, by program; empty without a policy (docs/client-policy.md).
    ``programs``: processes of the user's own programs by name (docs/programs.md); empty for any other run.
    ``keys``: of a session, what its zones held when they were compared last (``docs/cluster.md``).
    ``order``: settings by which a run with ordered messages is judged.
    ``unread_zones``: zones whose end state could not be read. ``longest_stall_ms``: the longest that the lab's own
    process was kept from running; if it nears ``shortest_time_out_ms``, the lab and not the cluster may miss time-outs.
    ``stall_p99_ms``: how late it was in all but one of a hundred looks; latencies that are not much longer are its own.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    format: int = 1
    run_id: str = ""
    owner: RunOwner | None = None
    segments: dict[str, int] = {}
    zonelab_version: str
    git_commit: str | None = None
    program: str | None = None
    scenario: str
    level: str
    seed: int
    arm: str = "real"
    zones: str | None = None
    server: str | None = None
    python: str | None = None
    platform: str | None = None
    started_utc: str
    epoch_ns: int
    status: Literal["running", "complete", "interrupted", "failed"]
    error: str | None = None
    phases: dict[str, tuple[int, int]] = {}
    drained: bool = False
    unread_zones: tuple[str, ...] = ()
    queue: QueueInfo
    workload: WorkloadInfo | None = None
    session: SessionInfo | None = None
    order: OrderRules | None = None
    coordinators: dict[str, dict[str, Any]] = {}
    programs: dict[str, dict[str, Any]] = {}
    keys: dict[str, Any] | None = None
    clients: dict[str, dict[str, int]] = {}
    deaths: dict[str, int] = {}
    doubts: tuple[str, ...] = ()
    late_ms: float | None = None
    longest_stall_ms: float | None = None
    stall_p99_ms: float | None = None
    shortest_time_out_ms: float | None = None
    forbid: tuple[Annotated[MessageClass, BeforeValidator(_known_class)], ...] = FORBIDDEN_DEFAULT
    command: str = ""

    @property
    def zone_names(self) -> tuple[str, ...]:
        return tuple(sorted({*self.queue.shards.values(), *self.coordinators, *self.unread_zones}))

    @property
    def not_judged(self) -> tuple[MessageClass, ...]:
        """The classes for which the engine lacks the means, or the scenario a bound."""
        return (*self.queue.not_judged, *(() if self.late_ms is not None else (MessageClass.LATE,)))

    @property
    def end_ns(self) -> int | None:
        """Run time at the end of the last phase on record: of a complete run that of the drain; None before any."""
        return max((end_ns for _, end_ns in self.phases.values()), default=None)

    @property
    def drain_end_ms(self) -> int | None:
        """The wall clock at the end of the drain; None of a run that did not come to it."""
        if "drain" not in self.phases:
            return None
        return self.wall_ms(self.phases["drain"][1])

    @property
    def doubt(self) -> str | None:
        """Why the run says less than a complete one; None if it is complete."""
        if self.status in ("complete", "running"):
            return None if self.status == "complete" else "the run is still going on"
        return f"the run was {self.status}" + (f": {self.error}" if self.error else "")

    def as_of_now(self) -> Self:
        """Return this record, with the status ``interrupted`` in place of ``running`` if its owner has died.

        The owner writes ``running`` when it begins, so a killed one leaves it behind.
        """
        if self.status == "running" and self.owner is not None and self.owner.is_gone():
            return self.model_copy(update={"status": "interrupted", "error": KILLED})
        return self

    def wall_ms(self, time_ns: int) -> int:
        """The wall clock of the run at run time ``time_ns``, in whole milliseconds."""
        return (self.epoch_ns + time_ns) // NS_PER_MS

    def run_ns(self, wall_ms: int) -> int:
        """Return the run time at which the wall clock of the run is ``wall_ms``."""
        return wall_ms * NS_PER_MS - self.epoch_ns


def opened_info(path: Path) -> tuple[Path, RunInfo]:
    """The directory that ``path``, which may be a link such as ``latest``, leads to, and its ``run.json`` as written.

    Raises ``RunError``.
    """
    directory = Path(path)
    if not directory.is_dir():
        what = "is a file, not a run directory" if directory.exists() else "no such run directory"
        raise RunError(f"{directory}: {what}")
    directory = directory.resolve()
    try:
        str(directory).encode()
    except UnicodeEncodeError as error:
        raise RunError(f"{bytes(directory)!r}: its name is not UTF-8, so its tables cannot be read") from error
    if not (directory / "run.json").exists():
        raise _no_run_file(directory)
    return directory, _run_info(directory / "run.json")


def _no_run_file(directory: Path) -> RunError:
    words = f"{directory}: not a run directory: it has no run.json"
    if (directory / "history" / "operations.parquet.partial").exists():
        return CutOff(f"{words} (history/operations.parquet.partial is there: {KILLED})")
    return RunError(words)


def _run_info(path: Path) -> RunInfo:
    with reading(path):
        text = path.read_text(encoding="utf-8-sig")
    _refuse_newer(path, text)
    try:
        info = RunInfo.model_validate_json(text)
        return info if info.run_id else info.model_copy(update={"run_id": sha256(text.encode()).hexdigest()[:16]})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "content"
        shown = "" if first["type"] == "missing" else f", got {str(first['input'])[:60]!r}"
        raise RunError(f"{path}: {where}: {first['msg']}{shown}") from error


def _refuse_newer(path: Path, text: str) -> None:
    """Before anything else: what a newer program means by the other fields nobody knows."""
    try:
        written = from_json(text).get("format", 1)
    except (ValueError, AttributeError):
        return
    if isinstance(written, int) and written > FORMAT:
        raise TooNew(f"{path}: {newer(written)}")


def newer(written: int) -> str:
    """Return the error of a file of a newer format."""
    return f"written by a newer zonelab, in format {written}; this one reads up to {FORMAT}"
