"""A rollout: a scenario with its section ``evaluate``, and the scenario of every setting and every kind of run."""

import json
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, Self

from pydantic import TypeAdapter

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.figures import SettingRates, rates_of
from zonelab.analysis.rates.outcomes import Outcomes, RunScale
from zonelab.analysis.rates.year import RunKind, Year
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.faults.catalogue import CLASSES, AnyFault
from zonelab.scenarios.faults.fault import Targets
from zonelab.scenarios.spec.evaluate import ANY, Evaluate, LoadTimes
from zonelab.scenarios.spec.load_times import load_times
from zonelab.scenarios.spec.reading import load_scenario, scenario_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.spec.thinning import MESSAGES_MAX, thinned, thinning_for, thinning_for_messages
from zonelab.studies.many_runs.task import Key
from zonelab.studies.sweep.settings import Setting, settings_of

UNTHINNED_MESSAGES_MAX = 10_000
"""Messages of the largest run that is not thinned: without a fault its load is shortened to it."""

COMPARED = 4
"""Figures that thinning should leave as they are come from runs that are thinned by so many times less, too."""

CALM_MESSAGES = 600
"""Messages of a thinned run without a fault: many short ones cost little more than a few long ones."""

SEEDS_OF_CELL = 1_000_000
"""Each kind of run has seeds of its own, so the kinds are independent of each other."""

_FAULT: TypeAdapter[AnyFault] = TypeAdapter(AnyFault)
_PLAIN = re.compile(r"[A-Za-z][\w.+*:-]*")


@dataclass(frozen=True)
class RolloutSettings:
    """``settings``: in the order of the file; their scenarios have neither faults nor the section itself."""

    scenario: Scenario
    evaluate: Evaluate
    settings: tuple[Setting, ...]

    @classmethod
    def _read(cls, source: str, overrides: Sequence[str], arm: Arm) -> Self:
        base = load_scenario(source, overrides=[*overrides, f"arm={arm}"])
        if lines := list(_lacking(base)):
            raise ScenarioError([f"{source}: {line}" for line in lines])
        evaluate = base.evaluate
        assert evaluate is not None
        vary = [f"{path}={','.join(map(_written, values))}" for path, values in evaluate.vary.items()]
        try:
            varied = settings_of(source, vary=vary, overrides=overrides, arm=arm)
        except ScenarioError as error:
            problems = [line.replace("--vary", f"{source}: evaluate.vary", 1) for line in error.lines]
            raise ScenarioError(problems) from None
        settings = (
            Setting(name=one.name.replace('"', ""), scenario=one.scenario.model_copy(update={"evaluate": None}))
            for one in varied
        )
        return cls(base, evaluate, tuple(settings))

    @property
    @abstractmethod
    def year(self) -> Year:
        """Return the year, with the kinds of runs that are made of each setting."""

    def seeds(self, cell: RunKind, count: int, *, first: int) -> range:
        """Return the seeds of runs of a kind: each kind has its own."""
        begin = first + self.year.cells.index(cell) * SEEDS_OF_CELL
        return range(begin, begin + count)

    def measured(self, results: Mapping[Key, Observation]) -> dict[str, SettingRates]:
        """Return what runs, by ``run_name`` and seed, say of each setting."""
        by_name: dict[str, dict[int, Observation]] = {}
        for (name, seed), run in results.items():
            by_name.setdefault(name, {})[seed] = run
        year = self.year
        outcomes = {
            one.name: Outcomes({cell: by_name.get(run_name(one.name, cell), {}) for cell in year.cells})
            for one in self.settings
        }
        return rates_of(outcomes, year)


@dataclass(frozen=True)
class Rollout(RolloutSettings):
    """A rollout whose runs are simulated."""

    @classmethod
    def load(cls, source: str, *, overrides: Sequence[str] = ()) -> "Rollout":
        """Raises ``ScenarioError`` if a setting or a fault is no valid scenario."""
        rollout = cls._read(source, overrides, Arm.SIM)
        for place in range(len(rollout.settings)):
            rollout._check_faults(place, source)
        return rollout

    @cached_property
    def times(self) -> LoadTimes:
        """Times of runs, so that those of every setting show the end of a backlog."""
        return longest_of([load_times(one.scenario) for one in self.settings])

    @cached_property
    def year(self) -> Year:
        """The year, whose runs are thinned where one of the load as it is would have too many messages or consumers."""
        year = self.evaluate.year(self.times)
        every = [one.scenario for one in self.settings]
        rate_per_s = max(one.rate_per_s for one in every)
        fit = min(UNTHINNED_MESSAGES_MAX, max(MESSAGES_MAX, year.run_s * rate_per_s))
        longest = {one.name: year.load_s(one.cells[-1]) * rate_per_s for one in year.faults}

        calm = RunKind(thinning=thinning_for(every))

        def thinning(messages: float) -> int:
            if messages <= fit:
                return calm.thinning
            return thinning_for_messages(every, messages, messages_max=MESSAGES_MAX)

        faults = [
            replace(
                one,
                thinning=thinning(longest[one.name]),
                passes=passed(every, longest_s=one.lengths_s[-1], lasts_s=one.lasts_s),
            )
            for one in year.faults
        ]
        thinnings = {one.thinning for one in faults if one.thinning > calm.thinning}
        compared = {
            one.thinning: max(calm.thinning, thinning_for(every, least=one.thinning // COMPARED))
            for one in faults
            if one.thinning > calm.thinning and self._asks_survivors(one.name)
        }
        longest_s = {
            one.thinning: year.load_s(one.cells[-1]) for one in sorted(faults, key=lambda one: longest[one.name])
        }
        calm_s = {
            k: min(longest_s.get(k, inf), max(year.run_s, CALM_MESSAGES * k / rate_per_s))
            for k in thinnings | set(compared.values()) - {calm.thinning}
        }
        return replace(year, faults=tuple(faults), calm_load_s=calm_s, calm=calm, compared=compared)

    def _asks_survivors(self, fault: str) -> bool:
        """Return whether an objective on a class of faults is on what thinned runs should show as others do."""
        return any(one.condition == fault and one.figure.survives_thinning for one in self.evaluate.objectives)

    def run(self, setting: int, cell: RunKind, seed: int) -> Scenario:
        """The scenario of one run."""
        base = self._loaded(setting, cell)
        if cell.fault is None:
            return base.model_copy(update={"seed": seed})
        faults = tuple(map(_FAULT.validate_python, self._faults(cell, base, seed)))
        return base.model_copy(update={"seed": seed, "faults": faults})

    def kinds_of_class(self, fault: str) -> list[str]:
        """The kinds of the faults of a class."""
        return [part.fault["kind"] for part in self.evaluate.faults[fault].fault]

    def scale(self, setting: int, cell: RunKind) -> RunScale:
        """Return what a run of this kind stands for."""
        return RunScale(
            thinned_by=thinned(self.settings[setting].scenario, cell.thinning).factor,
            shortened_by=self._load_s(setting, cell) / self._loaded(setting, cell).load.duration_s,
        )

    def in_turn(self, counts: Mapping[RunKind, int], *, first: int) -> list[tuple[RunKind, int]]:
        """Return kinds and seeds of runs of all kinds in proportion, so that what Ctrl-C leaves is of all kinds."""
        places = [
            ((place + 0.5) / count, cell, seed)
            for cell, count in counts.items()
            for place, seed in enumerate(self.seeds(cell, count, first=first))
        ]
        return [(cell, seed) for _, cell, seed in sorted(places, key=lambda one: one[0])]

    def _loaded(self, setting: int, cell: RunKind) -> Scenario:
        """The scenario of a setting with as much load as a run of this kind has."""
        made = thinned(self.settings[setting].scenario, cell.thinning).scenario
        load_s, rate_per_s = self._load_s(setting, cell), made.rate_per_s
        if cell == self.year.calm:
            load_s = min(load_s, UNTHINNED_MESSAGES_MAX / rate_per_s) if rate_per_s else load_s
        return made.model_copy(update={"load": made.load.model_copy(update={"duration_s": load_s})})

    def _load_s(self, setting: int, cell: RunKind) -> float:
        return self.settings[setting].scenario.load.duration_s if cell == self.year.calm else self.year.load_s(cell)

    def _faults(self, cell: RunKind, targets: Targets, seed: int) -> list[dict[str, Any]]:
        """The faults of one event. All of them are where ``seed`` says."""
        return [
            {
                **placed(part.fault, targets, seed),
                "at_s": round(self.times.begin_s + part.after_s, 3),
                "for_s": part.for_s or round(cell.length_s - part.after_s, 3),
            }
            for part in self.evaluate.faults[cell.fault or ""].fault
        ]

    def _check_faults(self, setting: int, source: str) -> None:
        """Raise for a wrong fault, with its place in the file."""
        for one in self.year.faults:
            path, parts = f"evaluate.faults.{one.name}.fault", self.evaluate.faults[one.name].fault
            for part in parts:
                if "at_s" in part.fault:
                    accepted = "no times of the run: after_s, from the begin of the event on"
                    raise ScenarioError([f"{source}: {path}.at_s: got {part.fault['at_s']!r}; accepted: {accepted}"])
            longest = self._loaded(setting, one.cells[-1])
            document = longest.model_dump(mode="json", exclude={"evaluate"})
            document["faults"] = self._faults(one.cells[-1], longest, 0)
            try:
                scenario_of(document, source=source)
            except ScenarioError as error:
                single = len(parts) == 1
                lines = [re.sub(r"faults(\[\d+\])", path + ("" if single else r"\1"), line) for line in error.lines]
                raise ScenarioError(lines) from None


def run_name(setting: str, cell: RunKind) -> str:
    """Return the name of the runs of a kind with a setting, which tells results apart."""
    return f"{setting}, {cell}"


def _lacking(scenario: Scenario) -> Iterator[str]:
    """Yield what keeps a scenario from being evaluated. Programs push by themselves, without ``load.rate_per_s``."""
    if scenario.evaluate is None:
        example = "" if scenario.programs else ", see zonelab new rollout"
        yield f"evaluate: missing; accepted: a section with objectives{example}"
    elif scenario.workload is not None:
        yield f"workload: got a {scenario.workload.kind}; accepted: none, as objectives are about a queue"
    elif scenario.faults:
        yield f"faults: got {len(scenario.faults)}; accepted: none, as runs have those of evaluate.faults"
    elif not scenario.programs and not pushes(scenario):
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


def placed(fault: Mapping[str, Any], targets: Targets, seed: int) -> dict[str, Any]:
    """Return a fault in which ``any`` has become a place.

    Neighbouring seeds have different ones, so all are equally frequent.
    """
    kind = CLASSES.get(str(fault.get("kind")))
    places = kind.anywhere(targets) if kind is not None else {}
    return {
        name: places[name][seed % len(places[name])] if value == ANY and places.get(name) else value
        for name, value in fault.items()
    }


def passed(scenarios: Sequence[Scenario], *, longest_s: float, lasts_s: float) -> str:
    """Return which times of ``scenarios`` lie between the longest simulated outage and the real one, in words."""
    times = dict.fromkeys((name, at_s) for one in scenarios for name, at_s in _thresholds(one))
    return " and ".join(f"{name} ({at_s:g} s)" for name, at_s in times if longest_s < at_s <= lasts_s)


def _thresholds(scenario: Scenario) -> Iterator[tuple[str, float]]:
    replication = scenario.replication
    yield "the lease", scenario.queue.unack_ms / 1000
    if replication.anti_entropy is not None:
        yield "retention of anti-entropy", replication.anti_entropy.retention_s
    if replication.hinted_handoff is not None and scenario.rate_per_s:  # each message is one write at least
        yield "the queue of hints", replication.hinted_handoff.queue / scenario.rate_per_s
