"""``zonelab lens``: one message of a run, on the terminal, as JSON and as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from zonelab.analysis.lens_page import write_lens_page
from zonelab.analysis.number_text import counted
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.engine.units import NS_PER_S
from zonelab.scenarios.run_phases import Watcher
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.stories.lens import Lens, lens, lenses, sees_zones

FOLDER = "lens"


@dataclass(frozen=True, kw_only=True, slots=True)
class LensResult:
    """``page``: the file with the lens; times in it, as in the JSON, are seconds of run time."""

    run: Path
    lens: Lens
    page: Path

    @classmethod
    def of(cls, run: Path, message_id: str, *, watcher: Watcher | None = None) -> "LensResult":
        """Look at a message, and write the page into the run's directory.

        Raises ``RunError``, ``NotAccepted``, or ``OSError`` if the page cannot be written.
        """
        directory = RunDirectory.open(run)
        found = lens(directory, message_id, watcher=watcher)
        page = directory.path / FOLDER / f"{quote(message_id, safe='')}.html"
        write_lens_page(lens_content(directory.path, found), page)
        return cls(run=directory.path, lens=found, page=page)

    def to_json(self) -> dict[str, Any]:
        return {**lens_content(self.run, self.lens), "page": str(self.page)}

    def print(self) -> None:
        print_lines(*_lines(self.lens), "", str(self.page))


def lens_contents(
    run: RunDirectory, message_ids: Sequence[str], *, watcher: Watcher | None = None
) -> dict[str, dict[str, Any]]:
    """Return what pages show of several messages of a run whose zones are seen; of any other run none.

    Raises ``RunError``.
    """
    if not message_ids or not sees_zones(run):
        return {}
    found = lenses(run, message_ids, watcher=watcher)
    return {message_id: lens_content(run.path, one) for message_id, one in found.items() if one.strips}


def lens_content(run: Path, found: Lens) -> dict[str, Any]:
    """Return all that a page shows of one message."""
    info = found.info
    return {
        "run": str(run),
        "scenario": info.scenario,
        "level": info.level,
        "engine": info.queue.engine,
        "seed": info.seed,
        "arm": info.arm,
        "message": found.message_id,
        "cases": [{"class": name, "detail": one.words} for name, one in found.cases],
        "strips": {
            zone: [{"begin_s": _s(one.begin_ns), "end_s": _s(one.end_ns), "state": one.state} for one in spans]
            for zone, spans in found.strips.items()
        },
        "zones": list(info.zone_names),
        "unknown": found.unknown,
        "leases": [{**asdict(one), "begin_s": _s(one.begin_ns), "end_s": _s(one.end_ns)} for one in found.leases],
        "steps": [
            {"at_s": _s(line.time_ns), "who": line.who, "what": line.what, "telling": line.telling}
            for line in found.lines
        ],
        "left_out": found.left_out,
        "at_rest": list(found.at_rest),
    }


def _s(time_ns: int) -> float:
    return time_ns / NS_PER_S


def _lines(found: Lens) -> Iterator[str]:
    info = found.info
    yield f"{found.message_id} in {info.scenario} at {info.level}, {info.queue.engine}, seed {info.seed}"
    for name, one in found.cases:
        yield f"{name}: {one.words}" if one.words else name
    yield "\nZones, times in seconds of the run:"
    for zone in info.zone_names:
        spans = found.strips.get(zone)
        states = [f"{_s(one.begin_ns):.6f} {one.state}" for one in spans or ()]
        yield f"  {zone}: {', '.join(states) if spans else 'unknown'}"
    if found.unknown:
        yield f"  What zones held in between is unknown: {found.unknown}."
    for lease in found.leases:
        how = "acknowledged" if lease.acked else "ends"
        times = f"from {_s(lease.begin_ns):.6f}, {how} at {_s(lease.end_ns):.6f}"
        yield f"  lease of {lease.holder}, delivery {lease.delivery}: {times}"
    yield ""
    for line in found.lines:
        yield f"{_s(line.time_ns):>11.6f}  {line.who:<22} {line.what}{'  ←' if line.telling else ''}"
    if found.left_out:
        yield f"Left out between the first and the last: {counted(found.left_out, 'event')} of clients."
    yield f"At the end: {'; '.join(found.at_rest)}."
