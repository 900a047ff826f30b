"""Reasons for the answer of an evaluation: one sentence a setting, why it is taken, tied or rejected."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from zonelab.analysis.number_text import counted, digits
from zonelab.analysis.rates.decisions import ObjectiveJudgement
from zonelab.analysis.rates.objectives import Figure, Objective, told
from zonelab.analysis.rates.recommendation import (
    TOLERANCE,
    UNBOUNDED_TOLERANCE,
    Recommendation,
    SettingChoice,
    bounding,
)
from zonelab.analysis.rates.samples import Estimate

_MINUTES_MAX = 120
_HOURS_MAX = 48


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerReasons:
    """``values``: by setting and figure, of the year. ``needs_s``: as the rounds of an evaluation have them.

    ``runs``: how many each setting has.
    """

    found: Recommendation
    values: Mapping[str, Mapping[Figure, Estimate]]
    needs_s: Mapping[tuple[str, Objective], float | None] = field(default_factory=dict)
    runs: Mapping[str, int] = field(default_factory=dict)

    def sentences(self) -> Iterator[str]:
        """Yield the sentence of each setting, of the recommended one first."""
        first = [row for row in self.found.rows if row.setting == self.found.recommended]
        others = [row for row in self.found.rows if row.setting != self.found.recommended]
        yield from map(self._of, (*first, *others))

    def _of(self, row: SettingChoice) -> str:
        if (binding := row.binding) is not None:
            return f"{row.setting} is rejected: {binding.objective} is not met, {binding}{_ratio(binding)}"
        chosen = self.found.recommended
        if row.setting == chosen:
            return f"{row.setting} is taken: {self._why_taken(row)}"
        if row.setting in self.found.tied:
            return f"{row.setting} is tied with it: {self._why_tied(row)}"
        if row.setting in self.found.behind:
            return f"{row.setting} is not taken: {self._beside(row.setting, self.found.behind[row.setting])}"
        return f"{row.setting} is open: {self.named(row.setting, row.open)}"

    def _why_tied(self, row: SettingChoice) -> str:
        """Return how little tells ``row`` from the recommended setting, and why it comes after it."""
        first = next(one for one in self.found.rows if one.setting == self.found.recommended)
        figure = self.found.slightly.get(row.setting, self.found.prefer[0])
        beside = self._beside(row.setting, figure)
        if row.unproven > first.unproven:
            place = int(row.unproven[0] == first.unproven[0])  # of what tells them apart
            how = " and not accepted" if row.accepts_unseen and not place else ""
            more = f"{row.unproven[place]} of its objectives are open{how}, beside {first.unproven[place]}"
            return f"{beside}, {self._within(row, figure)}; put after it, as {more}"
        if row.setting in self.found.slightly:
            return f"{beside}, {self._within(row, figure)}; put after it for that alone"
        margin = "; put after it, as it is nearer to a bound" if row.nearest > first.nearest else ""
        return f"{beside}; runs cannot tell them apart{self._uneven(row.setting)}{margin}"

    def _within(self, row: SettingChoice, figure: Figure) -> str:
        bound = bounding(figure, (one.objective for one in row.judged))
        if bound is None:
            return f"within {UNBOUNDED_TOLERANCE:.0%}"
        return f"within {TOLERANCE:.0%} of the bound of {bound.told_limit}"

    def _why_taken(self, row: SettingChoice) -> str:
        held = "every objective is met"
        if row.open:
            held = f"nothing seen speaks against it, though open of it: {self.named(row.setting, row.open)}"
        accepted = [one for one in row.judged if one.is_open and one not in row.open]
        if accepted:
            held += f", with {self.named(row.setting, accepted)} accepted as unseen"
        figure = self.found.prefer[0]
        return f"{held}; {figure} is {self._told(row.setting, figure)}"

    def named(self, setting: str, judged: Sequence[ObjectiveJudgement]) -> str:
        """Return objectives with what is known of each."""
        return "; ".join(f"{one.objective} ({self.seen(setting, one)})" for one in judged)

    def seen(self, setting: str, judged: ObjectiveJudgement) -> str:
        """Return what is known of an objective, and if it is open how long runs would have to go on to decide it."""
        if not judged.is_open or judged.objective.is_zero:
            return str(judged)
        needed_s = self.needs_s.get((setting, judged.objective))
        if needed_s is None:
            return str(judged)
        whole = ", not thinned" if judged.hidden else ""
        return f"{judged}; about {_time(needed_s)} more{whole}"

    @property
    def fewer(self) -> str:
        """Return how many runs the recommended setting has, if a tied one has more; else nothing."""
        chosen = self.found.recommended
        if chosen is None or not any(self._uneven(name) for name in self.found.tied):
            return ""
        beside = (f"{name} {self.runs[name]:,}" for name in self.found.tied)
        return f" ({counted(self.runs[chosen], 'run')} of the first; of {', of '.join(beside)})"

    def _uneven(self, tied: str) -> str:
        own, other = self.runs.get(self.found.recommended or "", 0), self.runs.get(tied, 0)
        return f" in {counted(own, 'run')} of that and {other:,} of this" if own < other else ""

    def _beside(self, name: str, figure: Figure) -> str:
        chosen = self.found.recommended or name
        return f"{figure} is {self._told(name, figure)}, beside {self._told(chosen, figure)}"

    def _told(self, name: str, figure: Figure) -> str:
        return told(figure, float(self.values[name][figure].value))


def _time(seconds: float) -> str:
    """Return a time to wait for, rounded up: minutes, hours or days."""
    if seconds <= _MINUTES_MAX * 60:
        return f"{max(1, ceil(seconds / 60))}min"
    hours = ceil(seconds / 3600)
    return f"{hours}h" if hours <= _HOURS_MAX else f"{ceil(hours / 24):,} days"


def _ratio(judged: ObjectiveJudgement) -> str:
    if judged.objective.is_zero or judged.ratio == float("inf"):
        return ""
    return f", {digits(judged.ratio)} times the bound"
