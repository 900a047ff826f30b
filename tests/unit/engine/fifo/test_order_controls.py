"""Goal: what keeps no order is caught, each by its property, and what keeps it is not.

Method: producers and members on one simulated zone. Planted bugs: tests/unit/studies/shrink/test_order_mutants.py.
"""

import pytest
from support.engine.fifo_verdicts import JudgedBench

from zonelab.analysis.checkers.order.properties import Property
from zonelab.engine.fifo.consumer.listener import ConsumeStatus

KEYS = [f"k{number}" for number in range(4)]


def broken(bench):
    """The properties that make the run invalid."""
    verdict = bench.verdict()
    return {str(name) for name in verdict.shown if name in verdict.forbid}


def fails_once(offset):
    failed = []

    def handle(delivered, _handling):
        if delivered[0].offset == offset and not failed:
            failed.append(offset)
            return ConsumeStatus.SUSPEND
        return ConsumeStatus.SUCCESS

    return handle


def served(lab, *, messages=6, keys=(), handle=None, work_ms=5, **settings):
    """One member that gets what there is, and then one message more, which comes while it works."""
    bench = JudgedBench(lab, work_ms=work_ms, **settings)
    bench.handle, sender = handle, bench.sender()
    bench.send(sender, messages - 1, *keys)
    bench.start("m").until(lambda: bench.started())
    bench.send(sender, 1, *keys)
    return bench


@pytest.mark.parametrize("unit", ["partition", "key"])
def test_without_a_bug_nothing_is_broken_and_order_was_tried(lab, unit):
    bench = served(lab, messages=16, keys=KEYS, handle=fails_once(1), order=unit, unit=unit)
    bench.all_done()
    verdict = bench.verdict()
    assert (verdict.valid, verdict.shown) == (True, ())
    exercised = [Property.STRICT_ORDER, Property.NO_GAPS, Property.PRODUCED_IN_ORDER, Property.RETRIES]
    assert {verdict.of(name) for name in exercised} == {"holds"}


def test_concurrent_consumers_with_batches_of_one_are_caught(lab):
    bench = served(lab, handle=fails_once(1), work_ms=200, order="none")
    bench.all_done()
    assert {"I4", "I6"} <= broken(bench)


@pytest.mark.parametrize(("reconsumed_max", "caught"), [(1, set()), (0, {"I11"})])
def test_one_attempt_too_few_is_caught(lab, reconsumed_max, caught):
    bench = served(
        lab,
        messages=3,
        handle=lambda delivered, _: ConsumeStatus.SUSPEND if delivered[0].offset == 1 else ConsumeStatus.SUCCESS,
        reconsumed_max=reconsumed_max,
        rules={"retries_max": 1},
    )
    bench.until(lambda: 2 in bench.finished())
    assert broken(bench) == caught
