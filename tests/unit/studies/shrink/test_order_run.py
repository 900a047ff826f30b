"""Goal: a run whose order was broken is shrunk, and its story tells what happened, with the cause in front.

Method: a drawn run of a mode of RocketMQ whose zombie writes an old cursor.
"""

from zonelab.analysis.checkers.order.properties import Property
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, scenario_of_class
from zonelab.studies.shrink.queue_run import shrink
from zonelab.studies.stories.story import story


def test_a_cursor_that_a_zombie_wrote_is_shrunk_to_one_pause_and_told():
    drawn = scenario_of_class(
        FaultClass.ANY_OF_ONE_ZONE, level=Level.DC_QUORUM, mode=EngineMode.ROCKETMQ_5_3, seed=2, engine="fifo"
    )
    shrunk = shrink(drawn, Property.CURSOR, runs_max=60)
    assert (len(shrunk.scenario.faults), len(shrunk.scenario.load.operations)) == (1, 1)
    page = story(shrunk.scenario, Property.CURSOR)
    (message,) = (operation.id for operation in shrunk.scenario.load.operations)
    moments = [
        "# I9: the cursor fell",
        "program_pause consumer-a-1 begins",
        f"consumer-b-0           start orders/1 {message} at 0 attempt 1",
        f"consumer-b-0           end orders/1 {message} at 0 attempt 1 (success)",
        "consumer-b-0           commit orders/1 to cursor 1",
        "program_pause consumer-a-1 ends",
        "consumer-a-1           commit orders/1 to cursor 0  ←",
        "**fell: from 1 to 0**, in orders/1",
        f"- log in zone a: 0 {message}",
        shrunk.trial.run.trace_hash,
    ]
    places = [page.index(moment) for moment in moments]
    assert places == sorted(places)
    assert len(page.splitlines()) < 80


def test_a_run_that_breaks_nothing_says_so_in_its_story():
    calm = scenario_of_class(FaultClass.NONE, level=Level.DC_QUORUM, mode=EngineMode.FENCED, seed=1, engine="fifo")
    assert "It does not break that any more." in story(calm, Property.CURSOR)
