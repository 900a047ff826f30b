"""Findings of a hunt: failing seeds grouped by what went wrong, and a scenario file for each group."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.checkers.verdict import CLASSES, class_named
from zonelab.analysis.number_text import counted, estimate, percent
from zonelab.analysis.observation import Observation
from zonelab.analysis.proportions import proportion_interval, share_json
from zonelab.analysis.whole_files import write_json
from zonelab.scenarios.run_files.directory import program_fingerprint
from zonelab.scenarios.spec.reading import write_scenario
from zonelab.scenarios.spec.scenario import KnownResult
from zonelab.studies.hunt.seeds import EVENTS, FAULTS, SAME, TWICE, VIRTUAL_NS, HuntTarget, is_broken
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.reporting.footer import footer
from zonelab.studies.reporting.report_table import Column, ReportTable

COUNTEREXAMPLE = "counterexample.yaml"
SEEDS_SHOWN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """The ``seeds`` that violate one class, the plainest first: fewest faults, then fewest events.

    ``name``: the class. ``counterexample``: a scenario file of the first seed, for ``run`` and ``zonelab replay``.

    Example::

        for group in hunt("zone-crash", runs=2, messages=10).groups:
            print(group.name, group.seeds, run(group.counterexample).verdict.valid)
    """

    name: str
    seeds: tuple[int, ...]
    counterexample: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class HuntResult:
    """The result of a hunt.

    ``scenario``: its name. ``observations``: of each run, by seed. ``groups``: those that failed, by what they
    violate; a seed that violates several classes is in several groups. ``complete`` is False if the hunt was
    interrupted. ``known``: how many results an earlier hunt left in ``directory``. ``command``: what continues the
    hunt. ``of_queue`` is False if the scenario has a workload in place of a queue.

    Example, which those of the methods continue::

        found = hunt("steady", runs=2, messages=5)
        assert found.complete and len(found.observations) == 2 and not found.groups
    """

    scenario: str
    directory: Path
    observations: Mapping[int, Observation]
    groups: tuple[Group, ...]
    complete: bool
    known: int
    command: str
    of_queue: bool = True

    @property
    def failing(self) -> int:
        """The number of runs that are invalid.

        Example::

            print(found.failing)  # 0
        """
        return sum(one.valid is False for one in self.observations.values())

    @property
    def broken(self) -> dict[int, str]:
        """Seeds in which the lab itself failed, or that are not the same twice, and why.

        Example::

            print(found.broken)  # {}
        """
        return {seed: one.problem or "" for seed, one in self.observations.items() if is_broken(one)}

    @property
    def undecided(self) -> list[int]:
        """Seeds that are neither valid nor invalid: they are no evidence of anything.

        Example::

            print(found.undecided)  # []
        """
        return [seed for seed, one in self.observations.items() if one.valid == "unknown"]

    @property
    def problems(self) -> list[str]:
        """Return what is said of ``broken``, a line each.

        Example::

            print(found.problems)  # []
        """
        return [f"seed {seed}: {why}" for seed, why in self.broken.items()]

    @property
    def exit_code(self) -> int:
        """1 if a seed failed, 2 if none did but some are missing or could not be judged, else 0.

        Example::

            print(found.exit_code)  # 0
        """
        return 1 if self.failing else 0 if self.complete and not self.undecided else 2

    @property
    def judged(self) -> int:
        """The number of runs that are valid or invalid.

        Example::

            print(found.judged)  # 2
        """
        return sum(one.is_decided for one in self.observations.values())

    def to_json(self) -> dict[str, Any]:
        """Return what ``zonelab hunt --json`` prints.

        Example::

            print(found.to_json()["runs"])  # 2
        """
        return {
            "scenario": self.scenario,
            "runs": len(self.observations),
            "known": self.known,
            "complete": self.complete,
            "problems": self.problems,
            "failing": self.failing,
            "unknown": len(self.undecided),
            "failure_rate": share_json(self.failing, self.judged),
            "repeated": self._sum(TWICE),
            "broken": {str(seed): why for seed, why in self.broken.items()},
            "groups": {
                group.name: {
                    "runs": len(group.seeds),
                    "seeds": list(group.seeds),
                    "counterexample": str(group.counterexample),
                }
                for group in self.groups
            },
            "directory": str(self.directory),
            "command": self.command,
        }

    def print(self) -> None:
        """Print what ``zonelab hunt`` prints.

        Example::

            found.print()
        """
        if self.groups:
            ReportTable(columns=self._columns, rows=self.groups).print()
        print_lines(*self._sentences())
        for group in self.groups:
            print_lines(
                f"\n{group.name}: {CLASSES[group.name].summary}",
                f"  zonelab replay {group.counterexample}",
                f"  zonelab shrink {group.counterexample} --class {group.name}",
            )
        print_lines("", *footer(self.command, complete=self.complete, reused=self.known))

    @property
    def _columns(self) -> list[Column[Group]]:
        return [
            Column("violated", lambda group: group.name),
            Column("runs", lambda group: len(group.seeds), number=True),
            Column("share (95 %)", lambda group: self._share(len(group.seeds)), number=True),
            Column("seeds", lambda group: _first(group.seeds)),
        ]

    def _share(self, hits: int) -> str:
        """Return the share of the judged runs with its interval; a dash without such runs."""
        share = hits / self.judged if self.judged else None
        return estimate(share, proportion_interval(hits, self.judged) if self.judged else None, percent)

    @property
    def _unit(self) -> str:
        return "messages" if self.of_queue else "operations"

    def _sentences(self) -> Iterator[str]:
        runs = len(self.observations)
        if not runs:
            yield "No seed was run."
            return
        pushed = sum(one.begun for one in self.observations.values())
        virtual_s = self._sum(VIRTUAL_NS) / 1e9
        totals = f"{counted(runs, 'run')}, {pushed:,} {self._unit}, {virtual_s:,.0f} s of virtual time"
        problems = dict.fromkeys(self.broken.values())
        if not self.judged and len(problems) == 1 and len(self.broken) == runs:
            yield f"{totals}; none could be judged: {next(iter(problems))}."
            return
        failed = f"{self.failing:,} failed, {self._share(self.failing)}" if self.judged else "none could be judged"
        yield f"{totals}; {failed}."
        if undecided := self.undecided:
            excluded = "had no verdict and are excluded from the percentages"
            yield f"{counted(len(undecided), 'run')} {excluded}; first seeds: {_first(undecided)}."
        twice, same = self._sum(TWICE), self._sum(SAME)
        if twice:
            yield f"{counted(twice, 'seed')} {'was' if twice == 1 else 'were'} run twice; {_same(same, twice)}."
        yield from self.problems[:SEEDS_SHOWN]

    def _sum(self, number: str) -> int:
        return int(sum(one.numbers.get(number, 0) for one in self.observations.values()))


def _first(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds[:SEEDS_SHOWN])) + (", …" if len(seeds) > SEEDS_SHOWN else "")


def _same(same: int, twice: int) -> str:
    if same == twice:
        return "both runs had identical event traces" if twice == 1 else "each had identical event traces"
    return f"{same:,} of them had identical event traces"


def run_hunt(target: HuntTarget, *, seeds: range, runs: Path, command: str, where: Where = HERE) -> HuntResult:
    """Hunt in ``runs/<scenario>/hunt-<fingerprint>``, and continue what is there. Raises ``OSError``."""
    experiment = target.experiment(seeds)
    directory = experiment.directory(runs)
    found = sum_up(target, experiment.conduct(directory, where=where), directory, command=command)
    write_json(directory / "hunt.json", found.to_json())
    return found


def sum_up(target: HuntTarget, done: AllRuns, directory: Path, *, command: str) -> HuntResult:
    """Group the failing seeds and write the counterexample of each group. Raises ``OSError``."""
    observations = done.by_setting().get(target.scenario.name, {})
    groups = []
    for name in CLASSES:
        failing = {seed: one for seed, one in observations.items() if name in one.violated}
        if failing:
            first, *others = sorted(failing, key=lambda seed: _plainness(seed, failing[seed]))
            path = directory / name / COUNTEREXAMPLE
            _write(target, first, failing[first], path)
            groups.append(Group(name=name, seeds=(first, *others), counterexample=path))
    return HuntResult(
        scenario=target.scenario.name,
        directory=directory,
        observations=observations,
        groups=tuple(groups),
        complete=done.complete,
        known=done.known,
        command=command,
        of_queue=target.scenario.workload is None,
    )


def _plainness(seed: int, one: Observation) -> tuple[float, float, int]:
    return one.numbers[FAULTS], one.numbers[EVENTS], seed


def _write(target: HuntTarget, seed: int, one: Observation, path: Path) -> None:
    found = KnownResult(
        trace_hash=one.trace_hash,
        violated=tuple(map(class_named, one.violated)),
        program=program_fingerprint(own=target.scenario.own_functions),
    )
    scenario = target.run_of(seed).model_copy(update={"found": found})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_scenario(scenario, path)
