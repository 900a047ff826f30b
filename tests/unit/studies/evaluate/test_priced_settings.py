"""Goal: prices of a file say which setting is regretted least, and at which price another one costs least.

Method: two made-up costs, one with more commands and one with more programs, equal where arithmetic says.
"""

from dataclasses import replace
from math import log

import numpy as np
import pytest

from zonelab.analysis.rates.samples import Estimate
from zonelab.scenarios.spec.evaluate import Prices
from zonelab.studies.evaluate.priced_settings import PricedSettings
from zonelab.studies.evaluate.yearly_cost import YearlyCost


def cost(*, million_commands: float, programs: int, prices: Prices | None) -> YearlyCost:
    commands = Estimate(*(np.array(million_commands * 1e6),) * 3)
    return YearlyCost(
        messages=1e9,
        commands=commands,
        outage="down",
        outage_s=60,
        backlog=600,
        backlog_bytes=6e4,
        programs=programs,
        busy=0.5,
        prices=prices,
    )


def priced(**prices: object) -> PricedSettings:
    """Return two settings of 20,000 and 10,000 million commands, with 3 and 6 programs."""
    given = Prices.model_validate(prices)
    sizes = {"busy": (20_000.0, 3), "wide": (10_000.0, 6)}
    costs = {name: cost(million_commands=size[0], programs=size[1], prices=given) for name, size in sizes.items()}
    found = PricedSettings.of(costs)
    assert found is not None
    return found


def test_the_setting_regretted_least_is_the_cheapest_of_most_prices():
    """At 5,000 a program both cost the same at 1.5 a million commands; 29 % of 1..4 lie below."""
    found = priced(million_commands="1..4", program=5_000)
    wide, busy = found.settings
    assert (wide.setting, wide.cost, busy.cost) == ("wide", 50_000, 55_000)
    assert busy.cheapest == pytest.approx(log(1.5) / log(4), abs=0.002)
    assert wide.cheapest + busy.cheapest == pytest.approx(1)
    assert wide.most == pytest.approx(5_000, rel=0.01), "at 1 a million commands"
    assert 0 < wide.regret < busy.regret
    told = list(found.sentences())
    assert told[0].startswith("Least regret by the prices of the file, in 1,000 draws, of what would do: wide, ")


def test_a_flip_is_the_price_at_which_two_settings_cost_the_same():
    flips = {one.what: one for one in priced(million_commands="1..4", program=5_000).flips}
    commands, program = flips["price of million_commands"], flips["price of program"]
    assert (commands.factor, commands.answer) == (pytest.approx(1.5 / 2), "busy, the cheapest")
    assert program.factor == pytest.approx(10_000 * 2 / 3 / 5_000)
    off = replace(commands, factor=2 * commands.factor)
    assert not costs_the_same(off.factor * 2), "a flip point off by a factor of two is noticed"
    assert costs_the_same(commands.factor * 2)


def costs_the_same(million_commands: float) -> bool:
    one, other = priced(million_commands=million_commands, program=5_000).settings
    return one.cost == pytest.approx(other.cost)


def test_known_prices_have_one_draw_and_no_prices_have_none():
    found = priced(million_commands=1, program=5_000)
    assert (found.draws, found.settings[0].setting, found.settings[0].regret) == (1, "busy", 0)
    assert PricedSettings.of({"a": cost(million_commands=1, programs=3, prices=None)}) is None
