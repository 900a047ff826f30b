"""``zonelab demo``: one crash, three consistency levels, the same load, one table."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from cluster.levels import Level
from scenarios.load import load_scenario
from scenarios.perform import Performed, perform, run_command
from scenarios.progress import display
from scenarios.spec import Scenario, ZoneKind
from scenarios.table import Result, print_table, result_table
from scenarios.words import conclusion

SCENARIO = "zone-crash"


@dataclass(frozen=True, kw_only=True, slots=True)
class Demo:
    """The runs of a demo, in the order of the levels."""

    runs: tuple[Performed, ...]
    command: str

    @property
    def results(self) -> list[Result]:
        return [run.result for run in self.runs if run.result is not None]

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": [run.to_json() for run in self.runs],
            "conclusion": conclusion(self.results),
            "command": self.command,
        }

    def print(self) -> None:
        console = Console()
        if self.results:
            first = self.runs[0]
            print_table(result_table(self.results, title=f"{SCENARIO}, seed {first.scenario.seed}: {_faults(first)}"))
            console.print()
            for sentence in conclusion(self.results):
                console.print(sentence, highlight=False)
        console.print()
        for run in self.runs:
            console.print(f"{run.scenario.level:<15} {run.directory}", highlight=False, soft_wrap=True)
            for path in run.illustrations.paths:
                console.print(f"{'':<15} {path}", highlight=False, soft_wrap=True)
        console.print(f"\nAgain: {self.command}", highlight=False, soft_wrap=True)


def run_demo(*, zones: ZoneKind, seed: int | None, runs: Path) -> Demo:
    """Stops after the first run that does not complete."""
    performed = []
    with display() as shown:
        for level in Level:
            overrides = [f"level={level}"] + ([f"seed={seed}"] if seed is not None else [])
            scenario = load_scenario(SCENARIO, overrides=overrides)
            shown.begin(f"{level:<14}")
            command = run_command(SCENARIO, scenario, zones=zones, overrides=(), runs=runs)
            performed.append(perform(scenario, zones=zones, runs=runs, shown=shown, command=command))
            if performed[-1].record.status != "complete":
                break
    return Demo(runs=tuple(performed), command=_command(performed[0].scenario, zones, runs))


def _faults(run: Performed) -> str:
    return ", ".join(f"{fault.kind} at {fault.at_s:g} s for {fault.for_s:g} s" for fault in run.scenario.faults)


def _command(scenario: Scenario, zones: ZoneKind, runs: Path) -> str:
    words = ["zonelab", "demo", "--zones", zones, "--seed", str(scenario.seed)]
    return shlex.join(words if runs == Path("runs") else [*words, "--runs", str(runs)])
