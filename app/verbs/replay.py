"""Running a counterexample again, and saying whether it was the same run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.app.verbs.run import RunResult, perform
from zonelab.scenarios.arms import Arm, On, ZoneKind
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.extras import Extra, require
from zonelab.scenarios.run_files.directory import program_fingerprint
from zonelab.scenarios.spec.reading import read_yaml_file
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.reporting.footer import command_line
from zonelab.studies.reporting.progress import Display


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayResult:
    """``same``: whether every event was that of the run that was found; None if nothing tells."""

    performed: RunResult
    same: bool | None
    words: str

    def to_json(self) -> dict[str, Any]:
        return {**self.performed.to_json(), "same": self.same, "words": self.words}

    def print(self) -> None:
        self.performed.print()
        print_lines("", self.words)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayedMachine:
    """A failure of a state machine, again: how it ``fails`` now, with its story; empty if it does not."""

    fails: str
    same: bool

    def to_json(self) -> dict[str, Any]:
        return {"fails": self.fails, "same": self.same}

    def print(self) -> None:
        words = "The same failure." if self.same else "Another failure." if self.fails else "It does not fail any more."
        print_lines(*filter(None, [self.fails, words]))


def replayed_machine(path: Path) -> ReplayedMachine | None:
    """Run the steps that a failure of a state machine left in ``path``; None if it is another file."""
    content = _mapping(path)
    if "choices" not in content:
        return None
    require(Extra.TESTING, asked=f"{path}: the failure of a state machine")
    from zonelab.studies.properties.budget import replay_machine, same_failure

    error = replay_machine(path, content)
    return ReplayedMachine(
        fails="" if error is None else str(error), same=error is not None and same_failure(content, error)
    )


def _mapping(path: Path) -> dict[str, Any]:
    """Return what ``path`` says; nothing if it is no YAML, or no mapping, of which the reading of scenarios tells."""
    try:
        content = read_yaml_file(path)
    except NotAccepted:
        return {}
    return content if isinstance(content, dict) else {}


def replayed(file: str, scenario: Scenario, *, zones: ZoneKind, runs: Path, shown: Display) -> ReplayResult:
    """Run ``scenario`` of ``file`` once more. Raises ``OSError``."""
    where = ["--on", On.of(scenario.arm, zones)]
    command = command_line(["zonelab", "replay", file, *where], runs=runs)
    performed = perform(scenario, zones=zones, runs=runs, shown=shown, stage=shown.stage, command=command)
    shown.done(performed.words)
    if scenario.arm is Arm.REAL:
        return ReplayResult(performed=performed, same=None, words="On real servers: the same operations and faults.")
    if scenario.found is None:
        return ReplayResult(
            performed=performed, same=None, words="The file does not tell what the run was like before."
        )
    trace_hash = getattr(RunDirectory.open(performed.directory).info, "trace_hash", None)
    same = trace_hash == scenario.found.trace_hash
    return ReplayResult(performed=performed, same=same, words=_words(scenario, str(trace_hash), same=same))


def _words(scenario: Scenario, trace_hash: str, *, same: bool) -> str:
    if same:
        return f"The same run, event by event: trace hash {trace_hash}."
    before = scenario.found.program if scenario.found is not None else None
    changed = before != program_fingerprint(own=scenario.own_functions)
    why = "the program has changed since" if changed else "although the program is the same: this is a bug in zonelab"
    return f"Another run: trace hash {trace_hash}, {why}."
