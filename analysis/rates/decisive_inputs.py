"""Values of single inputs from which on the answer is another one: found by bisection, without new runs."""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from zonelab.analysis.rates.rollout_question import RolloutQuestion, WeightInput, weight_inputs

STEP = 1.5
STEPS = 12
"""Up to so many steps up and down is a change looked for: by factors up to 130."""

CLOSE = 1.001
"""A flip point is found to this factor."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisiveInput:
    """An input that would change the answer: what it is, from which value on, and what the answer is then.

    ``factor``: of that value to the one of the file; ``low`` and ``high``: of the ends that the file gives.
    """

    what: str
    now: str
    then: str
    answer: str
    factor: float
    low: float = 1.0
    high: float = 1.0

    def __str__(self) -> str:
        return f"{self.what}: {self.now} → {self.then} makes it {self.answer}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def changes(question: RolloutQuestion, *, alike: Collection[str] = ()) -> Iterator[DecisiveInput]:
    """Yield for every input the nearest value above, and below, with another answer.

    By the estimates as they are: their intervals are left out of it. ``alike``: tied settings, so that one for another
    is no other answer.
    """
    now = question.answer()
    same = {now, *alike} if now in alike else {now}
    for one in weight_inputs(question):
        if one.value:
            for step in (STEP, 1 / STEP):
                yield from _flip(question, one, step=step, same=same)


def _flip(
    question: RolloutQuestion, one: WeightInput, *, step: float, same: Collection[str]
) -> Iterator[DecisiveInput]:
    kept = one.value
    for number in range(1, STEPS + 1):
        tried = one.value * step**number
        other = one.at(question, tried)
        if other is None:
            return
        if (answer := other.answer()) not in same:
            value, answer = _bisected(question, one, kept, (tried, answer), same)
            span = one.span
            yield DecisiveInput(
                what=one.what,
                now=one.told(one.value),
                then=_told_beside(one, value),
                answer=answer,
                factor=value / one.value,
                low=1.0 if span is None else span.low / one.value,
                high=1.0 if span is None else span.high / one.value,
            )
            return
        kept = tried


def _told_beside(one: WeightInput, value: float) -> str:
    """Return ``value`` as text; in the words of the file's own if it is that one as nearly as it was looked for."""
    if max(value / one.value, one.value / value) > CLOSE:
        return one.told(value)
    return f"just {'above' if value > one.value else 'below'} {one.told(one.value)}"


def _bisected(
    question: RolloutQuestion, one: WeightInput, kept: float, flipped: tuple[float, str], same: Collection[str]
) -> tuple[float, str]:
    """Return the value nearest to ``kept`` with another answer, and that answer."""
    value, answer = flipped
    while max(value / kept, kept / value) > CLOSE:
        middle = (value * kept) ** 0.5
        other = one.at(question, middle)
        if other is None or (found := other.answer()) in same:
            kept = middle
        else:
            value, answer = middle, found
    return value, answer
