"""Data of a manual session other than its faults: its settings, and the figures of each zone over time."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.units import NS_PER_S

_TOTALLED = ("operations", "errors", "divergent")
_CATEGORY = pa.dictionary(pa.int32(), pa.string())

VERBS = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),  # run time at which it was answered
        pa.field("verb", pa.string(), nullable=False),  # up, fault, end, restart, heal, down
        pa.field("arguments", pa.string(), nullable=False),  # JSON
        pa.field("error", pa.string()),  # null: it was done
    ]
)

SAMPLES = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),  # end of the interval
        pa.field("zone", _CATEGORY, nullable=False),
        pa.field("server", _CATEGORY, nullable=False),  # state of the zone's server: running, paused, dead
        pa.field("coordinator", _CATEGORY, nullable=False),  # state of its coordinator's process
        pa.field("operations_per_s", pa.float64()),  # commands of clients; null: the coordinator did not answer
        pa.field("errors_per_s", pa.float64()),  # of them answered with an error
        pa.field("divergent_per_s", pa.float64()),  # votes in which zones differed
        pa.field("p50_ms", pa.float64()),  # latency at the coordinator; null: no command in the interval
        pa.field("p99_ms", pa.float64()),
        pa.field("clients", pa.int64()),
        pa.field("in_flight", pa.int64()),  # messages on the links that this coordinator uses
    ]
)


def samples(run: RunDirectory) -> pa.Table:
    """Rows in order of time. Raises ``RunError``."""
    found = run.table("samples", SAMPLES)
    return SAMPLES.empty_table() if found is None else found


@dataclass(frozen=True, kw_only=True, slots=True)
class ZoneSummary:
    """Service of one zone's coordinator to its clients, as far as the samples show.

    ``operations`` and ``errors`` are rates times intervals. ``silent_s``: how long the coordinator did not answer.
    ``worst_p99_ms``: of all intervals in which there were commands, None if there were none.
    """

    zone: str
    operations: int
    errors: int
    divergent: int
    worst_p99_ms: float | None
    silent_s: float
    server_down_s: float


def by_zone(run: RunDirectory) -> dict[str, dict[str, Any]]:
    """Return the samples of each zone, a NumPy array a column, NaN where unknown. Raises ``RunError``."""
    table = samples(run)
    zones = np.asarray(table["zone"].to_pylist(), dtype=object)
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.schema.names}
    return {zone: {name: values[zones == zone] for name, values in columns.items()} for zone in sorted(set(zones))}


def zone_summaries(run: RunDirectory) -> list[ZoneSummary]:
    """One for each zone. Raises ``RunError``."""
    return [_summary(zone, columns) for zone, columns in by_zone(run).items()]


def _summary(zone: str, columns: Mapping[str, Any]) -> ZoneSummary:
    length_s = np.diff(columns["time_ns"], prepend=0) / NS_PER_S
    totals = {name: round(float(np.nansum(columns[f"{name}_per_s"] * length_s))) for name in _TOTALLED}
    known = columns["p99_ms"][~np.isnan(columns["p99_ms"])]
    return ZoneSummary(
        zone=zone,
        **totals,
        worst_p99_ms=float(known.max()) if len(known) else None,
        silent_s=float(length_s[np.isnan(columns["operations_per_s"])].sum()),
        server_down_s=float(length_s[columns["server"] != "running"].sum()),
    )


def unknown_scripts(coordinators: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sentences about servers that lack scripts which others have carried out, by what ``coordinators`` counted."""
    found: dict[str, list[dict[str, Any]]] = {}
    for counted in coordinators:
        for zone, unknown in counted.get("unknown_scripts", {}).items():
            found.setdefault(zone, []).append(unknown)
    return [
        f"Zone {zone} answered NOSCRIPT {_times(sum(one['times'] for one in unknowns))} since "
        f"{min(one['since_utc'] for one in unknowns)}: other zones had the script, so clients did not hear of it."
        for zone, unknowns in sorted(found.items())
    ]


def deviations(coordinators: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Errors and differing replies by command, zone and kind, of all ``coordinators``, the most frequent first."""
    times: Counter[tuple[str, str, str]] = Counter()
    for counted in coordinators:
        for row in counted.get("deviations", ()):
            times[row["command"], row["zone"], row["reply"]] += row["times"]
    ordered = sorted(times.items(), key=lambda item: (-item[1], item[0]))
    return [{"command": row[0], "zone": row[1], "reply": row[2], "times": count} for row, count in ordered]


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def verbs(run: RunDirectory) -> list[dict[str, object]]:
    """Rows in order of time. Raises ``RunError``."""
    found = run.table("verbs", VERBS)
    return [] if found is None else list(found.to_pylist())
