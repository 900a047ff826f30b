"""The figures of one run: counts, errors, latency, unavailability per operation and zone, with the checker's counts.

Two latencies are given for confirmed operations. *Service* latency runs from the invocation. *Response* latency
runs from the moment at which the load plan wanted the operation to start, so a stalled client cannot hide the
wait of the requests that it did not send (coordinated omission).
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.measures import Outages, chosen, confirmed, events, having, latency_ns, present
from zonelab.analysis.message_classes import DUPLICATE_CAUSES
from zonelab.analysis.proportions import Interval, proportion_interval
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.statistics import quantile_interval, quantiles, rate_interval
from zonelab.analysis.summary.overload import Overload, overloads
from zonelab.analysis.units import NS_PER_MS, NS_PER_S

ALL_ZONES = "all"

LOSSES = ("lost", "stuck", "abandoned")

_ORDER = ("push", "pop", "ack")
_COLUMNS = ("index", "time_ns", "invoke_ns", "intended_ns", "zone", "f", "type", "error")


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationSummary:
    """One operation in one zone, or over all zones (``zone`` = ``"all"``).

    ``counts``: events by type (invoke, ok, fail, info). ``errors``: completions by kind of error (its
    text before the first colon). ``service_ms`` and
    ``response_ms``: count and quantiles over ``ok`` completions. ``p99_interval_ms``: 95 % interval of the p99 of the
    service latency. ``unavailability_s``: time during the load in which the operation did not work in the zone (see
    ``Outages``); over all zones, the sum, in zone-seconds. None of an operation whose begins are not on record: nobody
    knows what was tried.
    """

    f: str
    zone: str
    counts: Mapping[str, int]
    errors: Mapping[str, int]
    service_ms: Mapping[str, float]
    response_ms: Mapping[str, float]
    p99_interval_ms: Interval | None
    unavailability_s: float | None

    @property
    def time_ms(self) -> Mapping[str, float]:
        """From when an operation was to begin, where a plan says that; else from when it began."""
        return self.response_ms if self.response_ms.get("count") else self.service_ms


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """``count`` cases, as a rate per message with its 95 % interval; ``None`` if there were no messages."""

    count: int
    rate: float | None
    interval: Interval | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """``summary.json``: who ran, the verdict's counts, and every operation in every zone.

    ``duplicates``: by cause, extra deliveries per delivered message. ``loss``: lost, stuck and abandoned messages per
    acknowledged message. ``overloaded``: zones whose consumers could not serve what arrived. These, ``totals`` and
    ``lateness_ms`` are empty of a run whose clients used no queue.
    """

    run_id: str
    scenario: str
    level: str
    seed: int
    status: str
    valid: bool | str
    load_s: float
    counts: Mapping[str, int]
    operations: tuple[OperationSummary, ...]
    totals: Mapping[str, int] = field(default_factory=dict)
    duplicates: Mapping[str, Rate] = field(default_factory=dict)
    loss: Mapping[str, Rate] = field(default_factory=dict)
    lateness_ms: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    overloaded: tuple[Overload, ...] = ()

    def operation(self, f: str, zone: str = ALL_ZONES) -> OperationSummary | None:
        return next((row for row in self.operations if (row.f, row.zone) == (f, zone)), None)

    @property
    def has_consumers(self) -> bool:
        return self.operation("pop") is not None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Summary":
        parts = {
            "operations": tuple(_operation_from_json(row) for row in value["operations"]),
            "duplicates": {name: _rate_from_json(row) for name, row in value["duplicates"].items()},
            "loss": {name: _rate_from_json(row) for name, row in value["loss"].items()},
            "overloaded": tuple(Overload(**row) for row in value.get("overloaded", ())),
        }
        return cls(**{**value, **parts})


def summarise(run: Path) -> Summary:
    """Write ``summary.json`` of the run in ``run``; check the run first if it has no verdict. Raises ``RunError``."""
    directory = RunDirectory.open(run)
    verdict = checked(directory)
    tallies, last_ns = _read(directory)
    load_ns = directory.info.phases.get("load", (0, last_ns))
    summary = Summary(
        run_id=directory.name,
        scenario=directory.info.scenario,
        level=directory.info.level,
        seed=directory.info.seed,
        status=directory.info.status,
        valid=verdict.valid,
        load_s=(load_ns[1] - load_ns[0]) / NS_PER_S,
        counts=verdict.counts,
        operations=tuple(_operations(tallies, load_end_ns=load_ns[1], instants=directory.info.queue.instants)),
    )
    if "queue" in verdict.sections:
        summary = _of_queue(summary, verdict, overloads(directory))
    directory.write_json("summary.json", summary.to_json())
    return summary


def _of_queue(summary: Summary, verdict: Verdict, overloaded: tuple[Overload, ...]) -> Summary:
    """Return ``summary`` with what only the run of a queue has."""
    totals = verdict.totals
    return replace(
        summary,
        totals=asdict(totals),
        duplicates={str(cause): _rate(verdict.counts[cause], totals.delivered) for cause in DUPLICATE_CAUSES},
        loss={name: _share(verdict.counts[name], totals.acknowledged) for name in LOSSES},
        lateness_ms=verdict.queue.lateness_ms,
        overloaded=overloaded,
    )


def load_verdict(run: RunDirectory) -> Verdict:
    """Return the verdict of a run of a queue, as ``checked`` does. Raises ``RunError``, also if it used no queue."""
    if run.info.workload is not None:
        raise RunError(f"{run.path}: its clients used a {run.info.workload.kind}: nothing here tells of messages")
    return checked(run)


def checked(run: RunDirectory) -> Verdict:
    """Return the verdict of a run as last checked; check it if it never was. Raises ``RunError``."""
    with recorded(run, "verdict.json") as value:
        if value is not None:
            return Verdict.from_json(value)
    return check(run.path)


def load_summary(run: RunDirectory) -> Summary:
    """The summary of a run as last written; writes it if it never was. Raises ``RunError``."""
    with recorded(run, "summary.json") as value:
        if value is not None:
            return Summary.from_json(value)
    return summarise(run.path)


@contextmanager
def recorded(run: RunDirectory, name: str) -> Iterator[Any]:
    """Yield what the file ``name`` of ``run`` holds, or None. Raises ``RunError`` if the block can make no
    sense of it.
    """
    try:
        yield run.read_json(name) if (run.path / name).exists() else None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"{run.path / name}: not written by this version: {error!r}") from error


@dataclass(slots=True)
class _Tally:
    """Outcomes, errors and times of one kind of operation in one zone."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    service_ns: list[NDArray[np.int64]] = field(default_factory=list)
    response_ns: list[NDArray[np.int64]] = field(default_factory=list)
    outages: Outages = field(default_factory=Outages)

    def add(self, rows: pa.RecordBatch) -> None:
        self.counts.update(_value_counts(rows["type"]))
        ended = chosen(rows, ~having(rows, "type", "invoke"))
        self.errors.update(_value_counts(_error_kinds(ended["error"])))
        self.outages.add(ended)
        ok = chosen(ended, confirmed(ended))
        self.service_ns.append(latency_ns(ok))
        self.response_ns.append(latency_ns(chosen(ok, present(ok, "intended_ns")), since="intended_ns"))


def _read(run: RunDirectory) -> tuple[dict[tuple[str, str], _Tally], int]:
    """The tallies by operation and zone in one pass, and the time of the last event (ns)."""
    tallies: dict[tuple[str, str], _Tally] = defaultdict(_Tally)
    last_ns = 0
    for rows in events(run.operations(_COLUMNS)):
        last_ns = max(last_ns, pc.max(rows["time_ns"]).as_py() or 0)
        for key, of_operation in _by_operation(rows):
            tallies[key].add(of_operation)
    return tallies, last_ns


def _by_operation(rows: pa.RecordBatch) -> Iterator[tuple[tuple[str, str], pa.RecordBatch]]:
    names, zones = (rows[column].unique().to_pylist() for column in ("f", "zone"))
    for f, zone in itertools.product(names, zones):
        if len(found := chosen(rows, having(rows, "f", f) & having(rows, "zone", zone))):
            yield (f, zone), found


def _value_counts(column: pa.Array) -> dict[str, int]:
    return {row["values"]: row["counts"] for row in pc.value_counts(column.drop_null()).to_pylist()}


def _error_kinds(errors: pa.Array) -> pa.Array:
    """The text before the first colon: what follows are particulars."""
    return pc.replace_substring_regex(errors, pattern=r"(?s):.*$", replacement="")


def _operations(
    tallies: Mapping[tuple[str, str], _Tally], *, load_end_ns: int, instants: Sequence[str]
) -> Iterator[OperationSummary]:
    """A row per operation and zone, then one over all zones, in the order push, pop, ack, others."""
    names = sorted({f for f, _ in tallies}, key=lambda f: (_ORDER.index(f) if f in _ORDER else len(_ORDER), f))
    for f in names:
        zones = {zone: tally for (name, zone), tally in sorted(tallies.items()) if name == f}
        outage_s = {zone: tally.outages.total_s(until_ns=load_end_ns) for zone, tally in zones.items()}
        for zone, tally in zones.items():
            yield _operation(f, zone, [tally], outage_s[zone], timed=f not in instants)
        yield _operation(f, ALL_ZONES, list(zones.values()), sum(outage_s.values()), timed=f not in instants)


def _operation(f: str, zone: str, tallies: list[_Tally], unavailability_s: float, *, timed: bool) -> OperationSummary:
    service_ms = _milliseconds(chunk for tally in tallies if timed for chunk in tally.service_ns)
    response_ms = _milliseconds(chunk for tally in tallies for chunk in tally.response_ns)
    counts: Counter[str] = sum((tally.counts for tally in tallies), Counter())
    errors: Counter[str] = sum((tally.errors for tally in tallies), Counter())
    return OperationSummary(
        f=f,
        zone=zone,
        counts={kind: counts[kind] for kind in ("invoke", "ok", "fail", "info")},
        errors=dict(errors.most_common()),
        service_ms=_with_count(service_ms),
        response_ms=_with_count(response_ms),
        p99_interval_ms=quantile_interval(service_ms, 0.99),
        unavailability_s=unavailability_s if timed or unavailability_s else None,
    )


def _milliseconds(chunks: Iterable[NDArray[np.int64]]) -> NDArray[np.float64]:
    return np.concatenate([np.empty(0, dtype=np.int64), *chunks]) / NS_PER_MS


def _with_count(sample_ms: NDArray[np.float64]) -> dict[str, float]:
    return {"count": sample_ms.size, **quantiles(sample_ms)}


def _rate(count: int, messages: int) -> Rate:
    """Extra deliveries per message: there may be more than one each, hence a Poisson interval."""
    interval = rate_interval(count, messages) if messages else None
    return Rate(count=count, rate=count / messages if messages else None, interval=interval)


def _share(count: int, messages: int) -> Rate:
    """Messages out of messages: a proportion."""
    interval = proportion_interval(count, messages) if messages else None
    return Rate(count=count, rate=count / messages if messages else None, interval=interval)


def _interval_from_json(value: Mapping[str, float] | None) -> Interval | None:
    return None if value is None else Interval(**value)


def _rate_from_json(value: Mapping[str, Any]) -> Rate:
    return Rate(**{**value, "interval": _interval_from_json(value["interval"])})


def _operation_from_json(value: Mapping[str, Any]) -> OperationSummary:
    return OperationSummary(**{**value, "p99_interval_ms": _interval_from_json(value["p99_interval_ms"])})
