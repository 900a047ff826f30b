"""The figures of many runs, made of rows of integers (``zonelab.analysis.spark.counts``), whoever counted them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from zonelab.analysis.latency_buckets import BucketCount, merged, quantiles_ms
from zonelab.analysis.message_classes import DUPLICATE_CAUSES
from zonelab.analysis.spark.inputs import LeftOut

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryFigures:
    """Figures of deliveries to consumers. ``lateness_ms``: quantiles of (delivery - due) over first deliveries, ``max``
    included.

    ``duplicate_rate``: by cause, extra deliveries per first delivery; ``None`` where there was none.
    """

    deliveries: int
    first_deliveries: int
    early: int
    duplicates: Mapping[str, int]
    duplicate_rate: Mapping[str, float | None]
    lateness_ms: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationFigures:
    """One operation of one setting in one zone; in one second of run time, or over the whole run (``None``).

    Completions count in the second of their completion. ``errors``: completions by kind of error. ``latency_ms``:
    service latency of ``ok`` completions. ``delivery``: for pops that delivered something.
    """

    setting: str
    f: str
    zone: str
    second: int | None
    invoke: int
    ok: int
    fail: int
    info: int
    errors: Mapping[str, int]
    latency_ms: Mapping[str, float]
    delivery: DeliveryFigures | None


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderFigures:
    """Figures of a property of ordered messages: cases, opportunities to break it, and in how many of ``runs`` it is
    broken.

    ``runs`` are those with ordered messages.
    """

    cases: int
    chances: int
    runs_with: int
    runs: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingFigures:
    """All runs of one setting together; the counts mean what those of the checker's verdict mean.

    ``setting``: the level, and whatever else differs among all the runs given. ``runs_with``: in how many of ``runs``
    each class has a case. Messages of a run share its faults, so it is runs that can be counted as independent.
    ``order``: by property, if any run has ordered messages.
    """

    setting: str
    runs: int
    totals: Mapping[str, int]
    counts: Mapping[str, int]
    runs_with: Mapping[str, int]
    delivery: DeliveryFigures | None
    order: Mapping[str, OrderFigures] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregates:
    """``differs``: by setting, what it has that others have not. ``left_out``: by path or URI, what was not used."""

    operations: tuple[OperationFigures, ...]
    settings: tuple[SettingFigures, ...]
    differs: Mapping[str, str]
    left_out: Mapping[str, LeftOut]


def operation_figures(rows: Iterable[Row]) -> Iterator[OperationFigures]:
    """Figures of rows of counts with the keys setting, f, zone and, perhaps, second; sorted by these.

    This is the one place where counts become quantiles and rates, so that figures depend on the counts alone.
    """
    for (setting, f, zone, second), group in groupby(rows, _operation_key):
        counted = list(group)
        alike = [row for row in counted if row["measure"] == "operation"]
        types, errors = _cases(alike, "type"), _cases(alike, "error")
        yield OperationFigures(
            setting=setting,
            f=f,
            zone=zone,
            second=second,
            **{kind: types[kind] for kind in ("invoke", "ok", "fail", "info")},
            errors={error: errors[error] for error in sorted(errors)},
            latency_ms=_quantiles(alike),
            delivery=delivery_figures(counted),
        )


def delivery_figures(rows: Iterable[Row]) -> DeliveryFigures | None:
    """Figures of the deliveries among rows of counts, all keys together; ``None`` if there are none."""
    alike = [row for row in rows if row["measure"] == "delivery"]
    if not alike:
        return None
    first = _cases(alike, "first")[True]
    causes = _cases(alike, "cause")
    duplicates = {str(cause): causes[cause] for cause in DUPLICATE_CAUSES}
    return DeliveryFigures(
        deliveries=sum(row["cases"] for row in alike),
        first_deliveries=first,
        early=_cases(alike, "early")[True],
        duplicates=duplicates,
        duplicate_rate={cause: count / first if first else None for cause, count in duplicates.items()},
        lateness_ms=_quantiles(alike),
    )


def _operation_key(row: Row) -> tuple[str, str, str, int | None]:
    return row["setting"], row["f"], row["zone"], row.get("second")


def _cases(rows: Iterable[Row], name: str) -> Counter[Any]:
    """Return how many cases there are of each value of ``name`` but null."""
    cases: Counter[Any] = Counter()
    for row in rows:
        if row[name] is not None:
            cases[row[name]] += row["cases"]
    return cases


def _quantiles(rows: Iterable[Row]) -> dict[str, float]:
    counts = (BucketCount(row["bucket"], row["cases"], row["largest_ns"]) for row in rows if row["bucket"] is not None)
    return quantiles_ms(merged([counts]))
