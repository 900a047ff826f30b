"""A rollout: a scenario with its section ``evaluate``, and the scenario of every setting and every kind of run."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter

from zonelab.analysis.rates.year import RunKind, Year
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.faults.catalogue import CLASSES, AnyFault
from zonelab.scenarios.faults.fault import Targets
from zonelab.scenarios.spec.evaluate import ANY, Evaluate, LoadTimes
from zonelab.scenarios.spec.load_times import load_times
from zonelab.scenarios.spec.reading import load_scenario, scenario_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.sweep.settings import Setting, settings_of

SEEDS_OF_CELL = 1_000_000
"""Each kind of run has seeds of its own, so the kinds are independent of each other."""

_FAULT: TypeAdapter[AnyFault] = TypeAdapter(AnyFault)
_PLAIN = re.compile(r"[A-Za-z][\w.+*:-]*")


@dataclass(frozen=True)
class Rollout:
    """``settings``: in the order of the file; their scenarios have neither faults nor the section itself."""

    scenario: Scenario
    evaluate: Evaluate
    settings: tuple[Setting, ...]

    @classmethod
    def load(cls, source: str, *, overrides: Sequence[str] = ()) -> "Rollout":
        """Raises ``ScenarioError`` if a setting or a fault is no valid scenario."""
        base = load_scenario(source, overrides=[*overrides, "arm=sim"])
        if lines := list(_lacking(base)):
            raise ScenarioError([f"{source}: {line}" for line in lines])
        evaluate = base.evaluate
        assert evaluate is not None
        vary = [f"{path}={','.join(map(_written, values))}" for path, values in evaluate.vary.items()]
        try:
            varied = settings_of(source, vary=vary, overrides=overrides)
        except ScenarioError as error:
            problems = [line.replace("--vary", f"{source}: evaluate.vary", 1) for line in error.lines]
            raise ScenarioError(problems) from None
        settings = tuple(
            Setting(name=one.name.replace('"', ""), scenario=one.scenario.model_copy(update={"evaluate": None}))
            for one in varied
        )
        rollout = cls(base, evaluate, settings)
        for setting in settings:
            rollout._check_faults(setting, source)
        return rollout

    @cached_property
    def times(self) -> LoadTimes:
        """Times of runs, so that those of every setting show the end of a backlog."""
        return longest_of([load_times(one.scenario) for one in self.settings])

    @cached_property
    def year(self) -> Year:
        return self.evaluate.year(self.times)

    def run(self, setting: int, cell: RunKind, seed: int) -> Scenario:
        """The scenario of one run."""
        base = self.settings[setting].scenario
        if cell.fault is None:
            return base.model_copy(update={"seed": seed})
        faults = tuple(map(_FAULT.validate_python, self._faults(cell, base, seed)))
        load = base.load.model_copy(update={"duration_s": self.year.load_s(cell)})
        return base.model_copy(update={"seed": seed, "faults": faults, "load": load})

    def kinds_of_class(self, fault: str) -> list[str]:
        """The kinds of the faults of a class."""
        return [part.fault["kind"] for part in self.evaluate.faults[fault].fault]

    def seeds(self, cell: RunKind, count: int, *, first: int) -> range:
        begin = first + self.year.cells.index(cell) * SEEDS_OF_CELL
        return range(begin, begin + count)

    def _faults(self, cell: RunKind, targets: Targets, seed: int) -> list[dict[str, Any]]:
        """The faults of one event. All of them are where ``seed`` says."""
        return [
            {
                **_placed(part.fault, targets, seed),
                "at_s": round(self.times.begin_s + part.after_s, 3),
                "for_s": part.for_s or round(cell.length_s - part.after_s, 3),
            }
            for part in self.evaluate.faults[cell.fault or ""].fault
        ]

    def _check_faults(self, setting: Setting, source: str) -> None:
        """Raise for a wrong fault, with its place in the file."""
        document = setting.scenario.model_dump(mode="json", exclude={"evaluate"})
        for one in self.year.faults:
            path, parts = f"evaluate.faults.{one.name}.fault", self.evaluate.faults[one.name].fault
            for part in parts:
                if "at_s" in part.fault:
                    accepted = "no times of the run: after_s, from the begin of the event on"
                    raise ScenarioError([f"{source}: {path}.at_s: got {part.fault['at_s']!r}; accepted: {accepted}"])
            document["load"]["duration_s"] = self.year.load_s(one.cells[-1])
            document["faults"] = self._faults(one.cells[-1], setting.scenario, 0)
            try:
                scenario_of(document, source=source)
            except ScenarioError as error:
                single = len(parts) == 1
                lines = [re.sub(r"faults(\[\d+\])", path + ("" if single else r"\1"), line) for line in error.lines]
                raise ScenarioError(lines) from None


def _lacking(scenario: Scenario) -> Iterator[str]:
    if scenario.evaluate is None:
        yield "evaluate: missing; accepted: a section with objectives, see zonelab new rollout"
    elif scenario.workload is not None:
        yield f"workload: got a {scenario.workload.kind}; accepted: none, as objectives are about a queue"
    elif scenario.faults:
        yield f"faults: got {len(scenario.faults)}; accepted: none, as runs have those of evaluate.faults"
    elif not pushes(scenario):
        yield "load.rate_per_s: got 0; accepted: more than 0, as objectives are about messages"


def pushes(scenario: Scenario) -> bool:
    """Return whether any zone pushes messages."""
    load = scenario.load
    return bool(load.arrivals or load.operations or any(map(load.rate_of, scenario.zones)))


def _written(value: Any) -> str:
    """Return the value as ``--set`` has it."""
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else json.dumps(value)


def longest_of(times: Sequence[LoadTimes]) -> LoadTimes:
    """Return what is long enough for each of them, and costs no more than any may."""
    return LoadTimes(
        run_s=times[0].run_s,
        busy=max(one.busy for one in times),
        settle_s=max(one.settle_s for one in times),
        most_s=min(one.most_s for one in times),
        grows=all(one.grows for one in times),
    )


def _placed(fault: Mapping[str, Any], targets: Targets, seed: int) -> dict[str, Any]:
    """``any`` becomes a place: neighbouring seeds have different ones, so all are equally frequent."""
    kind = CLASSES.get(str(fault.get("kind")))
    places = kind.anywhere(targets) if kind is not None else {}
    return {
        name: places[name][seed % len(places[name])] if value == ANY and places.get(name) else value
        for name, value in fault.items()
    }
