"""Reasons for the answer of an evaluation: one sentence a setting, why it is taken, tied or rejected."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from zonelab.analysis.number_text import digits
from zonelab.analysis.rates.decisions import ObjectiveJudgement
from zonelab.analysis.rates.objectives import Figure, told
from zonelab.analysis.rates.recommendation import Recommendation, SettingChoice
from zonelab.analysis.rates.samples import Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerReasons:
    """``values``: by setting and figure, of the year."""

    found: Recommendation
    values: Mapping[str, Mapping[Figure, Estimate]]

    def sentences(self) -> Iterator[str]:
        """Yield the sentence of each setting, of the recommended one first."""
        first = [row for row in self.found.rows if row.setting == self.found.recommended]
        others = [row for row in self.found.rows if row.setting != self.found.recommended]
        yield from map(self._of, (*first, *others))

    def _of(self, row: SettingChoice) -> str:
        if (binding := row.binding) is not None:
            return f"{row.setting} is rejected: {binding.objective} is not met, {binding}{_ratio(binding)}"
        chosen, open_ = self.found.recommended, _named(row.open)
        if row.setting == chosen:
            return f"{row.setting} is taken: {self._why_taken(row)}"
        if row.setting in self.found.tied:
            beside = self._beside(row.setting, self.found.prefer[0])
            return f"{row.setting} is tied with it: {beside}; runs cannot tell them apart"
        if row.setting in self.found.behind:
            return f"{row.setting} is not taken: {self._beside(row.setting, self.found.behind[row.setting])}"
        return f"{row.setting} is open: {open_}"

    def _why_taken(self, row: SettingChoice) -> str:
        held = "every objective is met"
        if row.open:
            held = f"nothing seen speaks against it, though open is {_named(row.open)}"
        accepted = [one for one in row.judged if one.is_open and one not in row.open]
        if accepted:
            held += f", with {_named(accepted)} accepted as unseen"
        figure = self.found.prefer[0]
        return f"{held}; {figure} is {self._told(row.setting, figure)}"

    def _beside(self, name: str, figure: Figure) -> str:
        chosen = self.found.recommended or name
        return f"{figure} is {self._told(name, figure)}, beside {self._told(chosen, figure)}"

    def _told(self, name: str, figure: Figure) -> str:
        return told(figure, float(self.values[name][figure].value))


def _named(judged: tuple[ObjectiveJudgement, ...] | list[ObjectiveJudgement]) -> str:
    return "; ".join(f"{one.objective} ({one})" for one in judged)


def _ratio(judged: ObjectiveJudgement) -> str:
    if judged.objective.is_zero or judged.ratio == float("inf"):
        return ""
    return f", {digits(judged.ratio)} times the bound"
