"""Ablations of one setting: the runs of its evaluation again, each with one safety mechanism of the queue off.

Both have the same seeds, so load, lags and faults are equal, and what differs is what the mechanism does there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from zonelab.analysis.number_text import counted, listed
from zonelab.analysis.rates.decisions import ERROR
from zonelab.analysis.rates.objectives import COMMANDS, DUPLICATES, LOSSES, UNAVAILABLE, Figure, told
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.year import RunKind

PAIRS_LEAST = 6
"""Pairs of runs of each kind: fewer tell nothing apart."""

FIGURES = tuple(map(Figure.parsed, (LOSSES, DUPLICATES, UNAVAILABLE, COMMANDS)))


@dataclass(frozen=True, kw_only=True, slots=True)
class AblationEffect:
    """Effect of a mechanism: what a setting has more of without it, in ``runs`` with it and as many without.

    ``more``: of ``figure``, a message or a run; less than 0 if it has less.
    """

    mechanism: str
    kind: RunKind
    figure: Figure
    more: float
    runs: int

    def __str__(self) -> str:
        unit = "s a run" if self.figure.name == UNAVAILABLE else " a message"
        amount = told(self.figure, abs(self.more), of_year=False).removesuffix("s" if unit[0] == "s" else "")
        sign = "more" if self.more > 0 else "less"
        where = "without a fault" if self.kind.fault is None else f"with {self.kind}"
        return f"{self.mechanism} off: {amount}{unit} {sign} of {self.figure} {where} ({counted(self.runs, 'pair')})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ablations:
    """``effects``: what pairs of runs tell apart, at 95 % for all of them. ``alike``: mechanisms of which they do not.

    ``kinds``: those that were run, each with its pairs; ``missing``: those for which there was no time.
    """

    setting: str
    effects: tuple[AblationEffect, ...]
    alike: tuple[str, ...]
    kinds: Mapping[RunKind, int]
    missing: tuple[RunKind, ...]

    def sentences(self) -> Iterator[str]:
        """Yield each effect, what shows none, and what was not run, in the words of the report."""
        yield from map(str, self.effects)
        if self.alike:
            runs = ", ".join(f"{pairs} {kind}" for kind, pairs in self.kinds.items())
            figures = listed([str(figure) for figure in FIGURES])
            yield f"{', '.join(self.alike)} off: no difference in {figures} is seen in pairs of runs ({runs})"
        if self.missing:
            yield f"no time for enough pairs of runs: {', '.join(map(str, self.missing))}"

    def more_of(self, figure: Figure, mechanism: str) -> AblationEffect | None:
        """Return the largest effect of ``mechanism`` on ``figure`` that there is more of without it."""
        found = [one for one in self.effects if (one.mechanism, one.figure) == (mechanism, figure) and one.more > 0]
        return max(found, key=lambda one: one.more, default=None)

    def to_json(self) -> dict[str, Any]:
        return {"setting": self.setting, "sentences": list(self.sentences())}


def ablations_of(setting: str, own: Outcomes, without: Mapping[str, Outcomes], kinds: Sequence[RunKind]) -> Ablations:
    """Compare the runs of a setting with those of the same seeds ``without`` a mechanism, by its name."""
    mechanisms = list(without)
    pairs: dict[RunKind, int] = {}
    effects, tests = [], max(1, len(mechanisms) * len(kinds) * len(FIGURES))
    for kind in kinds:
        for mechanism in mechanisms:
            made = without[mechanism].runs.get(kind, {})
            seeds = [seed for seed in own.runs.get(kind, {}) if seed in made]
            if len(seeds) < PAIRS_LEAST:
                continue
            pairs[kind] = min(pairs.get(kind, len(seeds)), len(seeds))
            off = Outcomes({kind: {seed: made[seed] for seed in seeds}})
            for figure in FIGURES:
                more = _difference(own, off, kind, figure, tests=tests)
                if more:
                    effects.append(
                        AblationEffect(mechanism=mechanism, kind=kind, figure=figure, more=more, runs=len(seeds))
                    )
    seen = {one.mechanism for one in effects}
    return Ablations(
        setting=setting,
        effects=tuple(sorted(effects, key=lambda one: mechanisms.index(one.mechanism))),
        alike=tuple(one for one in mechanisms if one not in seen) if pairs else (),
        kinds=pairs,
        missing=tuple(kind for kind in kinds if kind not in pairs),
    )


def _difference(own: Outcomes, off: Outcomes, kind: RunKind, figure: Figure, *, tests: int) -> float:
    """Return how much more there is without the mechanism, a message or a run; 0 if pairs do not tell it from none."""
    one, other = (outcomes.of_run(kind, figure, 0.0) for outcomes in (own, off))
    changes = np.array([other[seed] - one[seed] for seed in sorted(other)])
    error = float(changes.std(ddof=1)) / changes.size**0.5
    mean = float(changes.mean())
    if abs(mean) <= special.stdtrit(changes.size - 1, 1 - ERROR / 2 / tests) * error or not mean:
        return 0.0
    if figure.name == UNAVAILABLE:
        return mean
    messages = np.mean([run.begun for run in off.runs[kind].values()])
    return mean / max(1.0, float(messages))
