"""Several runs in one figure: which of them are drawn as one line, and what the lines are called.

Runs that differ in nothing but their seed are one line, as in ``zonelab analyze``; a line is called by what its runs
do not share with the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.figures.kinds.names import NotDrawable
from zonelab.analysis.figures.plot_data import Completions
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.runs.settings import differing, settings_of, value_text

LINES_MAX = 14
BY_ZONE, BY_SEED, BY_RUN = "zone", "seed", "run"
OF_FILE = "scenario.yaml "

_SPEAK_FOR_THEMSELVES = ("scenario", "level", "arm", "zones")
_CHARACTERS_MAX = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class PlotLine:
    """Runs drawn as one line, or their operations in one zone."""

    label: str
    runs: tuple[RunDirectory, ...]
    zone: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PlotLines:
    """The lines of a figure, in order, and what a reader must know of how runs were put together."""

    lines: tuple[PlotLine, ...]
    notes: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[RunDirectory, ...]:
        return tuple({run.path: run for line in self.lines for run in line.runs}.values())


def lines_of(runs: Sequence[RunDirectory], *, by: str | None = None) -> PlotLines:
    """The lines of ``runs``, told apart by ``by``: zone, seed, run, or the name of a setting.

    Without ``by`` by all that the runs differ in; a single run by zone. Raises ``RunError``, ``NotDrawable``.
    """
    settings = [settings_of(run) for run in runs]
    unlike = differing(settings)
    if by == BY_ZONE or (by is None and len(runs) == 1):
        return _checked(_zone_lines(_grouped(runs, settings, unlike)))
    if by is None:
        return _checked(PlotLines(lines=_grouped(runs, settings, unlike)))
    if by == BY_RUN:
        return _checked(PlotLines(lines=tuple(PlotLine(label=run.name, runs=(run,)) for run in runs)))
    name = setting_named(by, settings, others=(BY_ZONE, BY_RUN))
    return _checked(PlotLines(lines=_grouped(runs, settings, [name]), notes=_pooled(runs, settings, unlike, name)))


def setting_named(by: str, settings: Sequence[Mapping[str, Any]], *, others: Sequence[str] = ()) -> str:
    """The setting that ``by`` names, with or without the file that it stands in.

    Raises ``NotDrawable``, which lists the settings that differ and ``others`` as accepted.
    """
    known = {name for one in settings for name in one}
    found = next((name for name in (by, f"{OF_FILE}{by}") if name in known), None)
    if found is None:
        unlike = [name.removeprefix(OF_FILE) for name in differing(settings)]
        accepted = ", ".join(dict.fromkeys([*others, "level", BY_SEED, *unlike]))
        raise NotDrawable(f"--by {by}: no such setting of these runs; accepted: {accepted}")
    return found


def _grouped(
    runs: Sequence[RunDirectory], settings: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> tuple[PlotLine, ...]:
    groups: dict[tuple[str, ...], list[RunDirectory]] = {}
    for run, one in zip(runs, settings, strict=True):
        groups.setdefault(tuple(value_text(one.get(name)) for name in names), []).append(run)
    labels = labels_of(names, list(groups))
    return tuple(
        PlotLine(label=label, runs=tuple(members)) for label, members in zip(labels, groups.values(), strict=True)
    )


def labels_of(names: Sequence[str], groups: Sequence[Sequence[str]]) -> list[str]:
    """Return what each group is called: its value of each of ``names``, as texts."""
    if not names:
        return ["runs"] * len(groups)
    known = [list(dict.fromkeys(values)) for values in zip(*groups, strict=True)]
    return [
        ", ".join(_label(name, text, all_) for name, text, all_ in zip(names, group, known, strict=True))
        for group in groups
    ]


def _label(name: str, text: str, known: Sequence[str]) -> str:
    short = name.removeprefix(OF_FILE)
    shown = shortened(text, known)
    return shown if short in _SPEAK_FOR_THEMSELVES else f"{short} {shown}"


def shortened(text: str, known: Sequence[str]) -> str:
    """A value; one that is too long to be shown is its number among all ``known``."""
    if len(text) <= _CHARACTERS_MAX and not text.startswith(("[", "{")):
        return text
    return f"#{known.index(text) + 1}"


def _zone_lines(lines: Sequence[PlotLine]) -> PlotLines:
    found = []
    for line in lines:
        for zone in sorted({zone for run in line.runs for zone in run.info.zone_names}):
            label = f"zone {zone}" if len(lines) == 1 else f"{line.label}, zone {zone}"
            found.append(PlotLine(label=label, runs=line.runs, zone=zone))
    return PlotLines(lines=tuple(found))


def _pooled(
    runs: Sequence[RunDirectory], settings: Sequence[Mapping[str, Any]], unlike: Sequence[str], name: str
) -> tuple[str, ...]:
    """Return what the runs of one line differ in all the same."""
    members: dict[str, list[Mapping[str, Any]]] = {}
    for one in settings:
        members.setdefault(value_text(one.get(name)), []).append(one)
    mixed = {other for ones in members.values() for other in differing(ones)}
    names = [other.removeprefix(OF_FILE) for other in unlike if other in mixed]
    return (f"Runs of one line differ in {', '.join(names)}, too.",) if names else ()


def _checked(lines: PlotLines) -> PlotLines:
    if len(lines.lines) > LINES_MAX:
        raise too_many(len(lines.lines))
    return lines


def too_many(count: int) -> NotDrawable:
    return NotDrawable(
        f"{count} lines would not be told apart, at most {LINES_MAX} are: give fewer runs, or --by with a setting that "
        "has fewer values"
    )


def part_of(line: PlotLine, data: Mapping[str, Completions], f: str) -> Completions | None:
    """Return what a run with ``data`` has of operation ``f`` in the zone of ``line``."""
    part = data.get(f)
    if part is None or line.zone is None:
        return part
    return part.of_zone(line.zone) if line.zone in part.zones else None


def confirmed_of(line: PlotLine, data: Mapping[Path, Mapping[str, Completions]], f: str) -> list[Completions]:
    """The ok completions of operation ``f``, of each run of ``line`` that has any."""
    parts = [part_of(line, data[run.path], f) for run in line.runs]
    return [ok for part in parts if part is not None and len(ok := part.of_type("ok"))]


def nothing_in(lines: PlotLines, what: str) -> RunError:
    """The error of a figure for which no run has data."""
    runs = lines.runs
    where = str(runs[0].path) if len(runs) == 1 else f"{len(runs)} runs, the first of them {runs[0].path}"
    return RunError(f"{where}: no {what}: nothing to draw")
