"""Settings that would do, by the prices of the file: which costs least, which is regretted least, what changes that."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonelab.analysis.number_text import counted, digits, percent
from zonelab.analysis.rates.decisive_inputs import STEP, STEPS, DecisiveInput
from zonelab.analysis.rates.drawn_inputs import DRAWS, stratified
from zonelab.analysis.rates.input_range import InputRange
from zonelab.studies.evaluate.yearly_cost import YearlyCost

_FARTHEST = STEP**STEPS
_FEWEST = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class PricedSetting:
    """``cost``: a year, at the middle of all prices. ``cheapest``: in such a share of the draws nothing costs less.

    ``regret``: by how much it costs more than the cheapest, a year, the mean of the draws; ``most``: the largest.
    """

    setting: str
    cost: float
    cheapest: float
    regret: float
    most: float

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("setting", "cost", "cheapest", "regret", "most")}


@dataclass(frozen=True, kw_only=True, slots=True)
class PricedSettings:
    """``settings``: the one that is regretted least first. ``flips``: prices at which another one costs least."""

    draws: int
    settings: tuple[PricedSetting, ...]
    flips: tuple[DecisiveInput, ...]

    @classmethod
    def of(cls, costs: Mapping[str, YearlyCost]) -> "PricedSettings | None":
        """Return what the prices say of settings that would do; None without prices, or with a single setting."""
        names = [name for name, one in costs.items() if one.prices is not None]
        if len(names) < _FEWEST:
            return None
        prices = costs[names[0]].given_prices
        amounts = np.array([[costs[name].amounts[price] for price in prices] for name in names])
        spans = list(prices.values())
        drawn = np.array([[span.at(part) for span, part in zip(spans, row, strict=True)] for row in _parts(spans)])
        regrets = drawn @ amounts.T
        regrets -= regrets.min(axis=1, keepdims=True)
        middle = amounts @ np.array([span.middle for span in spans])
        settings = [
            PricedSetting(
                setting=name,
                cost=float(middle[place]),
                cheapest=float((regrets[:, place] <= 0).mean()),
                regret=float(regrets[:, place].mean()),
                most=float(regrets[:, place].max()),
            )
            for place, name in enumerate(names)
        ]
        flips = tuple(_flips(names, prices, amounts, cheapest=int(middle.argmin())))
        ranked = tuple(sorted(settings, key=lambda one: (one.regret, one.cost)))
        return cls(draws=len(drawn), settings=ranked, flips=flips)

    def sentences(self) -> Iterator[str]:
        """Yield which setting is regretted least by its price, the others, and what would change which costs least."""
        first, *others = self.settings
        yield (
            f"Least regret by the prices of the file, in {counted(self.draws, 'draw')}, of what would do: "
            f"{first.setting}, {digits(first.cost)} a year, the least in {percent(first.cheapest)}, on average "
            f"{digits(first.regret)} above the cheapest, at most {digits(first.most)}"
        )
        for one in others:
            yield (
                f"  {one.setting}: {digits(one.cost)} a year, the least in {percent(one.cheapest)}, on average "
                f"{digits(one.regret)} above the cheapest"
            )
        yield from (f"  {flip}" for flip in self.flips)

    def to_json(self) -> dict[str, Any]:
        return {
            "draws": self.draws,
            "least_regret": self.settings[0].setting,
            "settings": [one.to_json() for one in self.settings],
            "sentences": list(self.sentences()),
        }


def _parts(spans: list[InputRange]) -> NDArray[np.float64]:
    """Return where in each interval a draw is; one draw if all prices are known."""
    return stratified(len(spans), DRAWS) if any(not one.is_known for one in spans) else np.full((1, len(spans)), 0.5)


def _flips(
    names: list[str], prices: Mapping[str, InputRange], amounts: NDArray[np.float64], *, cheapest: int
) -> Iterator[DecisiveInput]:
    """Yield, of each price, the nearest value above and below from which on another setting costs least.

    Costs are linear in each price, so this is where two of them are equal; the other prices are at their middle.
    """
    middle = np.array([span.middle for span in prices.values()])
    costs = amounts @ middle
    for place, (what, span) in enumerate(prices.items()):
        now = float(middle[place])
        slopes = amounts[:, place] - amounts[cheapest, place]
        if not now:
            continue
        ahead = costs - costs[cheapest]
        equal = {
            float(now - ahead[one] / slopes[one]): names[one]
            for one in range(len(names))
            if one != cheapest and abs(slopes[one]) > 0
        }
        near = {at: name for at, name in equal.items() if now / _FARTHEST <= at <= now * _FARTHEST and at != now}
        for side in ([at for at in near if at > now], [at for at in near if at < now]):
            if side:
                at = min(side, key=lambda one: abs(one - now))
                yield DecisiveInput(
                    what=f"price of {what}",
                    now=digits(now),
                    then=digits(at),
                    answer=f"{near[at]}, the cheapest",
                    factor=at / now,
                    low=span.low / now,
                    high=span.high / now,
                )
