"""Self-contained HTML: one run in full, or several side by side. No network, every value escaped.

The one script is that of the timeline. The policy of the page names its hash, so that no other can run.
"""

import base64
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.order.section import OrderSection
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.figures.plots import labels, plot_accesses, plot_comparison, plot_run
from zonelab.analysis.figures.session_plot import plot_session
from zonelab.analysis.figures.staleness_plot import plot_staleness_over_time
from zonelab.analysis.figures.timeline import timeline
from zonelab.analysis.figures.timeline_svg import picture
from zonelab.analysis.first_screen.answers import Answers, answers
from zonelab.analysis.first_screen.next_steps import lens_command
from zonelab.analysis.lens_page import lens_parts
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.number_text import bounds, counted, digits
from zonelab.analysis.pages import REPORT_SCRIPTS, Script, environment
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.manual_session import deviations, unknown_scripts, verbs, zone_summaries
from zonelab.analysis.runs.settings import settings_of, used_words
from zonelab.analysis.stages import Stage, unheard
from zonelab.analysis.statistics import QUANTILES
from zonelab.analysis.stories.access_stories import access_stories
from zonelab.analysis.stories.lines import Story
from zonelab.analysis.stories.message_stories import message_stories
from zonelab.analysis.summary.allowed import allowed_of
from zonelab.analysis.summary.narrative import narrative
from zonelab.analysis.summary.result import Result
from zonelab.analysis.summary.run_summary import Rate, Summary, load_summary, load_verdict
from zonelab.analysis.whole_files import write_whole
from zonelab.analysis.workloads import WorkloadKind

SETTING_CHARACTERS_MAX = 300
SCENARIO_CHARACTERS_MAX = 100_000
"""A scenario with every operation told is as long as its run; its file is beside the page."""

_ALT = {
    "latency.png": "Latency of every operation over time",
    "latency-cdf.png": "Distribution of latency by operation",
    "lateness.png": "Distribution of lateness",
    "rates.png": "Operations per second over time, by outcome",
    "depth.png": "Queue depth of every zone over time",
    "duplicates-and-losses.png": "Duplicates by cause and losses",
    "staleness.png": "Share of stale reads, and the stalest, over time by zone",
    "session.png": "Commands, errors and latency of every zone over time",
}
_COMPARED_LATENCY = (("push", "p50"), ("push", "p99"), ("pop", "p50"), ("pop", "p99"), ("ack", "p50"), ("ack", "p99"))


@dataclass(frozen=True, slots=True)
class Image:
    uri: str
    alt: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassRow:
    """A class that occurred, as the report shows it."""

    name: str
    count: int
    forbidden: bool
    meaning: str
    rate: str
    cases: tuple[Case, ...]
    stories: tuple[Story, ...]


Lenses = Callable[[RunDirectory, Sequence[str]], Mapping[str, Mapping[str, Any]]]
"""Gives of messages what ``zonelab lens --json`` prints of each, as far as it is known."""


def build_report(run: Path, *, lenses: Lenses | None = None, stage: Stage = unheard) -> Path:
    """Write ``report.html`` of the run in ``run`` from its files; draw its figures anew. Raises ``RunError``.

    ``lenses``: of messages with which something forbidden happened, which are told with what each zone held.
    """
    directory = RunDirectory.open(run)
    if directory.info.session is not None:
        page = _session_page(directory)
    else:
        queue = directory.info.workload is None
        page = _queue_page(directory, lenses, stage) if queue else _access_page(directory, stage)
    return write_whole(directory.path / "report.html", page)


def _queue_page(directory: RunDirectory, lenses: Lenses | None, stage: Stage) -> str:
    result = Result.recorded(directory)
    verdict, summary, found = result.verdict, result.summary, answers(directory, result)
    stories = _titled(message_stories(directory, _told_cases(found)), found)
    looked_at = dict.fromkeys(story.subject for name in verdict.violated for story in stories.get(name, ()))
    seen = lenses(directory, list(looked_at)) if lenses else {}
    return _judged_page(
        "report.html",
        directory,
        result,
        answers=found,
        figures=plot_run(directory.path, stage=stage),
        totals=asdict(verdict.totals),
        duplicates=list(_rates(summary)),
        classes=list(_classes(verdict, summary, stories)),
        lenses={name: lens_parts(shown) for name, shown in seen.items()},
        absent=[name.replace("_", " ") for name in MessageClass if not verdict.counts[name]],
        order=verdict.order and list(_order(verdict.order)),
        crowded=[name for name, _, _, cases, tries, _ in _order(verdict.order) if cases > tries]
        if verdict.order
        else [],
    )


def _access_page(directory: RunDirectory, stage: Stage) -> str:
    result = Result.recorded(directory)
    verdict, found = result.verdict, answers(directory, result)
    stories = access_stories(directory, _told_cases(found))
    return _judged_page(
        "access_report.html",
        directory,
        result,
        answers=found,
        lenses={},
        figures=[*plot_accesses(directory.path, stage=stage), *_staleness(directory)],
        anomalies=[
            {
                "name": name,
                "count": verdict.counts[name],
                "forbidden": name in verdict.forbid,
                "meaning": name.summary,
                "rate": "",
                "cases": verdict.cases[name],
                "stories": stories.get(name, ()),
            }
            for name in Anomaly
            if verdict.counts[name]
        ],
    )


def _told_cases(found: Answers) -> dict[str, list[Case]]:
    """Return the cases of each class that are told: the first of each story, the commonest stories first."""
    return {name: [group.first.case for group in cases.groups] for name, cases in found.cases.items()}


def _titled(stories: Mapping[str, tuple[Story, ...]], found: Answers) -> dict[str, tuple[Story, ...]]:
    """Return the stories, each under the words of all cases that are like it."""
    words = {
        (str(name), group.first.case.subject): group.words for name, of in found.cases.items() for group in of.groups
    }
    return {
        name: tuple(replace(story, detail=words.get((name, story.subject), story.detail)) for story in told)
        for name, told in stories.items()
    }


def _staleness(directory: RunDirectory) -> list[Path]:
    """Return the staleness figures. Only the history of registers shows when a value was written that a read missed."""
    workload = directory.info.workload
    return [plot_staleness_over_time(directory)] if workload and workload.kind == WorkloadKind.REGISTER else []


def _session_page(directory: RunDirectory) -> str:
    info = directory.info
    return _single_run_page(
        "session_report.html",
        directory,
        title=f"Session at {info.level}, {info.started_utc}",
        figures=plot_session(directory.path),
        session=info.session,
        zones=zone_summaries(directory),
        unknown_scripts=unknown_scripts(info.coordinators.values()),
        deviations=deviations(info.coordinators.values()),
        keys=info.keys,
        verbs=verbs(directory),
    )


def _judged_page(template: str, directory: RunDirectory, result: Result, **found: Any) -> str:
    """``template`` of a run that was judged, with its timeline and the script that zooms it."""
    info, shown, used = directory.info, timeline(directory), used_words(directory)
    return _single_run_page(
        template,
        directory,
        title=f"{info.scenario} at {info.level}, {used}, seed {info.seed}: {result.words}",
        used=used,
        verdict=result.verdict,
        word=result.words,
        allowed=result.allowed,
        sentences=narrative([result]),
        lens_command=partial(lens_command, directory),
        summary=result.summary,
        quantiles=tuple(QUANTILES),
        timeline=shown,
        picture=picture(shown),
        script=Script.of_templates(*REPORT_SCRIPTS),
        **found,
    )


def _single_run_page(template: str, directory: RunDirectory, *, title: str, figures: list[Path], **found: Any) -> str:
    """``template``, which extends ``single_run.html``, filled with what every run has and what was ``found`` in it."""
    return (
        environment()
        .get_template(template)
        .render(
            title=title,
            info=directory.info,
            faults=directory.faults(),
            images=[_image(path) for path in figures],
            coordinators=_coordinators(directory.info.coordinators),
            settings={
                name: _shortened(str(value), SETTING_CHARACTERS_MAX) for name, value in settings_of(directory).items()
            },
            scenario=_shortened(directory.scenario_text(), SCENARIO_CHARACTERS_MAX),
            environment=_facts(directory),
            **found,
        )
    )


def build_comparison(runs: Sequence[Path], path: Path) -> Path:
    """Write one page that sets ``runs`` side by side to ``path``; links to their reports. Raises ``RunError``."""
    directories = [RunDirectory.open(run) for run in runs]
    verdicts, summaries = [load_verdict(run) for run in directories], [load_summary(run) for run in directories]
    scenarios = ", ".join(dict.fromkeys(run.info.scenario for run in directories))
    with TemporaryDirectory(prefix="zonelab-plots-") as folder:
        images = [_image(image) for image in plot_comparison(runs, Path(folder))]
    shown = [
        {
            "label": label,
            "word": verdict.word,
            "allowed": allowed_of(verdict),
            "verdict": verdict,
            "link": _link(run.path / "report.html", path.parent),
            "command": run.info.command,
        }
        for label, run, verdict in zip(labels(directories), directories, verdicts, strict=True)
    ]
    page = (
        environment()
        .get_template("comparison.html")
        .render(
            title=f"{scenarios}: {counted(len(runs), 'run')} compared",
            heading=f"{scenarios}, compared",
            runs=shown,
            counts=_compared_counts(verdicts),
            figures=_compared_figures(summaries),
            images=images,
        )
    )
    return write_whole(path, page)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} … ({len(text):,} characters)"


def _classes(verdict: Verdict, summary: Summary, stories: Mapping[str, tuple[Story, ...]]) -> Iterator[ClassRow]:
    rates = {**summary.duplicates, **summary.loss}
    for name in (*MessageClass, *(Property if verdict.order else ())):
        if verdict.counts[name]:
            yield ClassRow(
                name=name,
                count=verdict.counts[name],
                forbidden=name in verdict.forbid,
                meaning=name.summary,
                rate=_rate_in_words(rates[name], per=_per(name, summary)) if name in rates else "",
                cases=verdict.cases.get(name, ()),
                stories=stories.get(name, ()),
            )


def _order(order: OrderSection) -> Iterator[tuple[Property, str, str, int, int, str]]:
    """Property, what it is, what became of it, cases, opportunities, and what counts as one."""
    for name in Property:
        yield name, name.label, order.of(name), order.counts[name], order.opportunities[name], name.exercised_by


def _rates(summary: Summary) -> Iterator[tuple[str, int, float, float, float, str]]:
    """Name, cases, and per 1,000 messages the rate and its interval, of every cause of duplicates and kind of loss."""
    for name, rate in {**summary.duplicates, **summary.loss}.items():
        if rate.rate is not None and rate.interval is not None:
            low, high = 1_000 * rate.interval.low, 1_000 * rate.interval.high
            yield name.replace("_", " "), rate.count, 1_000 * rate.rate, low, high, _per(name, summary)


def _per(name: str, summary: Summary) -> str:
    return "delivered" if name in summary.duplicates else "acknowledged"


def _rate_in_words(rate: Rate, *, per: str) -> str:
    if rate.rate is None or rate.interval is None:
        return ""
    around = bounds(rate.rate, rate.interval, lambda share: digits(1_000 * share))
    return f"{digits(1_000 * rate.rate)} per 1,000 {per} messages, 95 % interval {around}"


def _coordinators(statistics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Nested statistics as one row a figure and a column a zone; figures that are zero everywhere are left out."""
    zones = sorted(statistics)
    flat = {zone: dict(_flat(statistics[zone])) for zone in zones}
    names = dict.fromkeys(name for zone in zones for name in flat[zone])
    rows = [(name, [flat[zone].get(name, 0) for zone in zones]) for name in names]
    rows = [(name, values) for name, values in rows if any(values)]
    return {"zones": zones, "rows": rows} if rows else None


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int | float]]:
    for name, inner in value.items():
        path = f"{prefix}{name}".replace("_", " ")
        if isinstance(inner, Mapping):
            yield from _flat(inner, prefix=f"{path} · ")
        elif isinstance(inner, int | float):
            yield path, inner


def _facts(run: RunDirectory) -> dict[str, str]:
    info = run.info
    facts = {
        "run": str(run.path),
        "started": info.started_utc,
        "status": info.status + (f": {info.error}" if info.error else ""),
        "zonelab": info.zonelab_version + (f", commit {info.git_commit}" if info.git_commit else ""),
        "program": info.program,
        "engine": f"{info.queue.engine}, {len(info.queue.shards)} shards" if info.session is None else None,
        "server": info.server,
        "zones": info.zones,
        "python": info.python,
        "platform": info.platform,
        "longest stall of the lab": "" if info.longest_stall_ms is None else f"{info.longest_stall_ms:,.0f} ms",
    }
    return {name: value for name, value in facts.items() if value}


def _compared_counts(verdicts: Sequence[Verdict]) -> list[tuple[str, list[int]]]:
    totals = [asdict(verdict.totals) for verdict in verdicts]
    rows = [(name, [total[name] for total in totals]) for name in totals[0]]
    classes = [(str(name), [verdict.counts[name] for verdict in verdicts]) for name in MessageClass]
    return rows + [(name, values) for name, values in classes if any(values)]


def _compared_figures(summaries: Sequence[Summary]) -> list[tuple[str, list[float | None]]]:
    rows: list[tuple[str, list[float | None]]] = []
    for f, quantile in _COMPARED_LATENCY:
        found = [summary.operation(f) for summary in summaries]
        rows.append((f"{f} {quantile} (ms)", [row.service_ms.get(quantile) if row else None for row in found]))
    late = [summary.lateness_ms.get("all", {}).get("p99") for summary in summaries]
    rows.append(("lateness p99 (ms)", late))
    for f in dict.fromkeys(f for f, _ in _COMPARED_LATENCY):
        found = [summary.operation(f) for summary in summaries]
        rows.append((f"{f} outage (zone-seconds)", [row.unavailability_s if row else None for row in found]))
    return rows


def _image(path: Path) -> Image:
    return image_of(path, _ALT[path.name])


def image_of(path: Path, alt: str) -> Image:
    """A PNG as part of the page itself. Raises ``OSError``."""
    encoded = base64.b64encode(path.read_bytes()).decode("ascii")
    return Image(uri=f"data:image/png;base64,{encoded}", alt=alt)


def _link(target: Path, start: Path) -> str | None:
    """A relative link, so that a folder of runs can be moved as a whole."""
    return Path(os.path.relpath(target, start.resolve())).as_posix() if target.exists() else None
