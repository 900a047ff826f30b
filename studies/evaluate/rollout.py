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
from zonelab.scenarios.spec.evaluate import ANY, Evaluate, begin_s
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
    def year(self) -> Year:
        return self.evaluate.year(self.scenario.load.duration_s)

    def run(self, setting: int, cell: RunKind, seed: int) -> Scenario:
        """The scenario of one run."""
        base = self.settings[setting].scenario
        if cell.fault is None:
            return base.model_copy(update={"seed": seed})
        fault = _FAULT.validate_python(self._fault(cell, base, seed))
        return base.model_copy(update={"seed": seed, "faults": (fault,)})

    def seeds(self, cell: RunKind, count: int, *, first: int) -> range:
        begin = first + self.year.cells.index(cell) * SEEDS_OF_CELL
        return range(begin, begin + count)

    def _fault(self, cell: RunKind, targets: Targets, seed: int) -> dict[str, Any]:
        given = self.evaluate.faults[cell.fault or ""].fault
        times = {"at_s": begin_s(self.year.run_s), "for_s": cell.length_s}
        return {**_placed(given, targets, seed), **times}

    def _check_faults(self, setting: Setting, source: str) -> None:
        """Raise for a wrong fault, with its place in the file."""
        for one in self.year.faults:
            document = setting.scenario.model_dump(mode="json", exclude={"evaluate"})
            path = f"evaluate.faults.{one.name}.fault"
            given = self.evaluate.faults[one.name].fault
            if own := [name for name in ("at_s", "for_s") if name in given]:
                accepted = "no times: those of lengths_s and lasts_s are used"
                raise ScenarioError([f"{source}: {path}.{own[0]}: got {given[own[0]]!r}; accepted: {accepted}"])
            document["faults"] = [self._fault(one.cells[-1], setting.scenario, 0)]
            try:
                scenario_of(document, source=source)
            except ScenarioError as error:
                raise ScenarioError([line.replace("faults[0]", path) for line in error.lines]) from None


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


def _placed(fault: Mapping[str, Any], targets: Targets, seed: int) -> dict[str, Any]:
    """``any`` becomes a place: neighbouring seeds have different ones, so all are equally frequent."""
    kind = CLASSES.get(str(fault.get("kind")))
    places = kind.places(targets) if kind is not None else {}
    return {
        name: places[name][seed % len(places[name])] if value == ANY and places.get(name) else value
        for name, value in fault.items()
    }
