"""Goal: every engine of the catalogue that is popped, in each of its modes, keeps its promises where nothing goes
wrong, and the state machine that drives it notices what it loses. Method: ``EngineMachine``; searches have fixed seeds.
"""

from dataclasses import replace

import pytest
from hypothesis import strategies as st
from support.studies.state_machines import hunt, search

from zonelab.engine.queue import Features
from zonelab.scenarios.spec import engines
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.studies.properties import EngineMachine, Trouble


def machine(engine, mode="default", *, troubles=()):
    """On one zone without lag; hardened on three."""
    zones = ("a", "b", "c") if mode == "hardened" else ("a",)
    kept = {"engine": engine, "mode": mode, "zones": zones, "lags": st.just("0"), "delays_ms": (0, 1_000)}
    return type("Machine", (EngineMachine,), {**kept, "troubles": frozenset(troubles)})


@pytest.mark.parametrize(
    ("engine", "mode"),
    [(name, mode) for name, engine in ENGINES.items() for mode, it in engine.modes.items() if not it.features.groups],
)
def test_an_engine_keeps_its_promises_where_nothing_goes_wrong(engine, mode):
    assert search(machine(engine, mode), examples=4, steps=20) is None


def test_an_engine_that_is_not_popped_is_refused():
    with pytest.raises(
        ValueError, match="got 'fifo', whose messages are handed to listeners; accepted: dyno, dyno-v2,"
    ):
        machine("fifo", "rocketmq-5.3")()


@pytest.mark.parametrize("engine", ["gmq", "youzan"])
def test_jobs_that_a_consumer_took_with_it_are_noticed(engine):
    """It died between taking one from the list and writing its lease."""
    assert hunt(machine(engine, troubles={Trouble.CRASH})) is not None


@pytest.mark.parametrize("claimed", [False, True])
def test_without_leases_a_delivery_settles_what_is_owed_unless_leases_are_claimed(monkeypatch, claimed):
    modes = {"default": replace(ENGINES["zset"].modes["default"], features=Features(leases=claimed))}
    monkeypatch.setitem(engines.ENGINES, "zset", replace(ENGINES["zset"], modes=modes))
    violation = search(machine("zset", troubles={Trouble.CRASH}), examples=60, steps=20)
    assert (violation is not None) is claimed
