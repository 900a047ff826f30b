"""The strip of time of the first screen: faults, outages of each zone, and the cases of each class as ticks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zonelab.analysis.first_screen.case_groups import ClassCases
from zonelab.analysis.first_screen.outages import OutageSpan
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.units import NS_PER_S

WIDTH = 1_000
ROW_HEIGHT = 18
_NARROWEST = 1.5
_TICKS = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class StripBar:
    """A bar in units of the strip; ``colour``: empty for that of its row."""

    x: float
    width: float
    title: str
    colour: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class StripRow:
    """A row of bars, or, of cases, of ``ticks``. ``kind``: fault, outage or case."""

    name: str
    kind: str
    bars: tuple[StripBar, ...] = ()
    ticks: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Strip:
    """``marks``: seconds of run time and their places in percent. ``load``: begin and end of the load in units."""

    rows: tuple[StripRow, ...]
    marks: tuple[tuple[str, float], ...]
    load: tuple[float, float] | None

    @property
    def height(self) -> int:
        return ROW_HEIGHT * len(self.rows)


def strip(run: RunDirectory, outages: Sequence[OutageSpan], shown: Sequence[ClassCases]) -> Strip:
    """Return the strip of a run: a row of faults, one for each zone that did not work, one for each class."""
    bands = run.faults()
    times_ns = [end for _, end in run.info.phases.values()] + [at for one in shown for at in one.at_ns]
    end_ns = max([*times_ns, *(band.end_ns or band.begin_ns for band in bands), 1_000_000])
    load_ns = run.info.phases.get("load")
    return Strip(
        rows=tuple(_rows(bands, outages, shown, end_ns)),
        marks=tuple(_marks(end_ns)),
        load=None if load_ns is None else (_x(load_ns[0], end_ns), _x(load_ns[1], end_ns)),
    )


def _rows(
    bands: Sequence[FaultBand], outages: Sequence[OutageSpan], shown: Sequence[ClassCases], end_ns: int
) -> Iterator[StripRow]:
    if bands:
        yield StripRow(name="faults", kind="fault", bars=tuple(_fault(band, end_ns) for band in bands))
    for zone in dict.fromkeys(one.zone for one in outages):
        bars = (_bar(one.begin_ns, one.end_ns, one.words, end_ns) for one in outages if one.zone == zone)
        yield StripRow(name=f"zone {zone} out", kind="outage", bars=tuple(bars))
    for one in shown:
        places = sorted({round(_x(at_ns, end_ns)) for at_ns in one.at_ns})
        if places:
            yield StripRow(name=one.name.words, kind="case", ticks="".join(f"M{x} 3v12" for x in places))


def _fault(band: FaultBand, end_ns: int) -> StripBar:
    until_ns = end_ns if band.end_ns is None else band.end_ns
    title = f"{band.kind} {band.target}, {band.begin_ns / NS_PER_S:.2f} to {until_ns / NS_PER_S:.2f} s"
    return _bar(band.begin_ns, until_ns, title, end_ns, colour=band.colour)


def _bar(begin_ns: int, until_ns: int, title: str, end_ns: int, *, colour: str = "") -> StripBar:
    x = _x(begin_ns, end_ns)
    return StripBar(x=x, width=max(_NARROWEST, round(_x(until_ns, end_ns) - x, 1)), title=title, colour=colour)


def _x(at_ns: int, end_ns: int) -> float:
    return round(WIDTH * min(at_ns, end_ns) / end_ns, 1)


def _marks(end_ns: int) -> Iterator[tuple[str, float]]:
    end_s = end_ns / NS_PER_S
    power = 10.0 ** (len(f"{int(end_s / _TICKS)}") - 1 if end_s >= _TICKS else -3)
    steps = (nice * power * 10.0**more for more in range(5) for nice in (1, 2, 5))
    step = next(one for one in steps if end_s / one <= _TICKS)
    for number in range(int(end_s / step + 1e-9) + 1):
        yield f"{number * step:g}", round(100 * number * step / end_s, 2)
