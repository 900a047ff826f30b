"""Goal: a run that is judged in memory leaves Python's garbage collector as it was. Method: looks at it from inside."""

import gc

import pytest
from support.scenarios.sim_runs import small

from zonelab.scenarios.queues.catalogue import queue_under_test
from zonelab.scenarios.run.trial import attempt


@pytest.fixture
def collector():
    yield
    gc.enable()


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_during_a_run_and_is_afterwards_as_it_was(collector, enabled):
    if not enabled:
        gc.disable()
    seen = []

    def make_queue(testbed, scenario):
        seen.append(gc.isenabled())
        return queue_under_test(testbed, scenario)

    assert attempt(small(), make_queue=make_queue).verdict.valid is True
    assert (seen, gc.isenabled()) == ([False], enabled)


def test_a_run_in_which_the_lab_fails_leaves_the_collector_on(collector):
    def make_queue(testbed, scenario):
        raise RuntimeError("no queue today")

    trial = attempt(small(), make_queue=make_queue)
    assert (trial.run.record.status, trial.verdict, gc.isenabled()) == ("failed", None, True)
