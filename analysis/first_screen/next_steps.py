"""Commands to go on with after a run: one look closer, a smaller run, more runs, and what would mend it."""

import json
import os
import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.events.run import ENGINE as EVENTS
from zonelab.analysis.number_text import listed
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.result import Result

LOAD_PER_S = 10
HUNTED_RUNS = 200
ABLATION_RUNS = 100
_SCENARIO = "scenario.yaml"

ABLATED: Mapping[str, str] = {"dyno": "hardened", "dyno-v2": "hardened", "gmq": "hardened", "fifo": "fenced"}
"""By engine, the mode whose mechanisms ``zonelab ablate`` switches off."""


@dataclass(frozen=True, slots=True)
class NextCommand:
    """A command to copy, and what it answers."""

    command: str
    why: str


def next_steps(run: RunDirectory, result: Result, values: Mapping[str, Any]) -> tuple[NextCommand, ...]:
    """Return what to do next after a run that was judged, the nearest look first; ``values``: of its scenario file."""
    verdict, place = result.verdict, path_text(run.path)
    steps = [*_closer(run, verdict, place)]
    if run.info.queue.engine == EVENTS:
        return (*steps, *_of_programs(run, place))
    if result.summary.overloaded:
        steps.append(NextCommand(_line("limit", f"{place}/{_SCENARIO}"), "up to which rate the zones keep up"))
    if verdict.violated and _is_listed(values):
        kept = str(verdict.violated[0])
        shrink = _line("shrink", f"{place}/{_SCENARIO}", "--class", kept)
        steps.append(NextCommand(shrink, "the smallest run that fails in the same way"))
    if not verdict.begun:
        loaded = _line("run", f"{place}/{_SCENARIO}", "--set", f"load.rate_per_s={LOAD_PER_S}")
        return (*steps, NextCommand(loaded, "the same with a load: nothing was begun in this run"))
    hunt = _line("hunt", f"{place}/{_SCENARIO}", "--runs", str(HUNTED_RUNS), "--jobs", "2")
    others = ", and a small run to shrink" if verdict.violated else ""
    steps.append(NextCommand(hunt, f"how often other seeds and faults fail{others}"))
    if verdict.violated and run.info.workload is None:
        steps += _mending(run, verdict)
    return tuple(steps)


def lens_command(run: RunDirectory, message_id: str) -> str:
    """Return the command that shows one message of ``run``."""
    return _line("lens", path_text(run.path), message_id)


def path_text(path: Path) -> str:
    """Return ``path`` as a shell in the current folder takes it: relative, if it lies below."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.pardir) else relative


def _line(*words: str) -> str:
    return shlex.join(["zonelab", *words])


def _closer(run: RunDirectory, verdict: Verdict, place: str) -> Iterator[NextCommand]:
    names = verdict.violated or tuple(name for section in verdict.sections.values() for name in section.shown)
    cases = ((name, case) for name in names for case in verdict.cases.get(name, ()) if case.message_id)
    for name, first in islice(cases, 1):
        why = f"the first case of {name.words}: every zone, lease and vote"
        yield NextCommand(lens_command(run, first.message_id), why)
    if run.info.queue.order:
        yield NextCommand(_line("partitions", place), "each partition: who held it, and where it stood still")


def _of_programs(run: RunDirectory, place: str) -> Iterator[NextCommand]:
    """Yield what to do next with programs of the user's own, which nobody can simulate; nothing for a log alone."""
    if run.info.programs:
        again = _line("run", f"{place}/{_SCENARIO}", "--seed", str(run.info.seed + 1))
        yield NextCommand(again, "the same programs and faults with another seed: one run is one example")


def _is_listed(values: Mapping[str, Any]) -> bool:
    """Return whether the scenario lists its operations or has a workload: only then can it be shrunk as it is."""
    kinds = ("load.operations", "workload")
    return any(value for name, value in values.items() if name.startswith(kinds))


def _mending(run: RunDirectory, verdict: Verdict) -> Iterator[NextCommand]:
    """Yield the study of which mechanism prevents what went wrong, named if such a study lies beside the run."""
    engine = run.info.queue.engine
    if engine not in ABLATED:
        return
    ablate = _line("ablate", "--engine", engine, "--runs", str(ABLATION_RUNS), "--jobs", "2")
    found = list(_detected(run.path.parent.parent / engine, {str(name) for name in verdict.violated}))
    known = f": {listed(found)} did in the study beside this run" if found else ""
    yield NextCommand(ablate, f"which mechanism of {engine}'s {ABLATED[engine]} mode prevents this{known}")


def _detected(folder: Path, classes: Collection[str]) -> Iterator[str]:
    """Yield the mechanisms without which one of ``classes`` occurs, by the ablations that are kept in ``folder``."""
    for path in sorted(folder.glob("ablate-*/ablate.json")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
                if not set(row["detected"]).isdisjoint(classes):
                    yield " with ".join(row["off"])
