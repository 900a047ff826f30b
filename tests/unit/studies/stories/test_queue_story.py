"""Goal: the story of a queue's run goes on to its end, however often programs looked in vain, and tells one thing.

Method: a service looks every millisecond for a lease that has ended, and ends it too late, so that an acknowledged
message is delivered again; an adapter whose end state has what the server answered.
"""

import re
from collections.abc import AsyncIterator
from typing import Any

from support.own_queues.leased import HERE, BadlyReapedUnderTest
from support.scenarios.sim_runs import small

from zonelab.analysis.message_classes import MessageClass
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.stories.story import setting_of, story
from zonelab.studies.stories.timeline import LINES_MAX

MESSAGE = "a-000001"
LATE = {"kind": "command_delay", "program": "service", "service": "reaper", "script": "ZREM", "late_ms": 300}


def resurrecting(factory: str, **changes: Any) -> Scenario:
    return small(
        topology={"zones": ["a"]},
        level="DC_ONE",
        links={"lag": "0"},
        queue={"factory": factory, "unack_interval_ms": 1},
        load={"duration_s": 1, "rate_per_s": 0.0, "operations": [{"at_ms": 0, "zone": "a", "id": MESSAGE}]},
        consumers={"per_zone": 1, "batch": 1, "processing": "0.95*constant:450ms + 0.05*constant:1ms"},
        faults=[{**LATE, "zone": "a", "at_s": 0, "for_s": 0.9}],
        **changes,
    )


def test_looks_that_find_nothing_new_share_a_line_and_the_second_delivery_is_told() -> None:
    page = story(resurrecting(f"{HERE}:BadlyReapedUnderTest"), MessageClass.RESURRECTED)
    moments = [f"push {MESSAGE}: done", f"pop {MESSAGE}: done", "more commands like these", f"ack {MESSAGE}: done"]
    again = page.index(f"pop {MESSAGE}: done", page.index(moments[-1]))
    places = [*map(page.index, moments), again, page.index("At the end")]
    assert places == sorted(places)
    lines = page.splitlines()
    looks = [line for line in lines if "ZSCORE leases" in line and "to ZSCORE" not in line]
    assert len(looks) < sum(int(count) for count in re.findall(r"\((\d+) more commands", page)) / 10


def test_what_is_left_out_of_a_long_story_is_no_delivery_and_no_ack() -> None:
    scenario = resurrecting(f"{HERE}:BadlyReapedUnderTest", drain={"bound_s": 20})
    page = story(scenario, MessageClass.RESURRECTED)
    done = [row for row in attempt(scenario).tables.tables["operations"].rows if MESSAGE in row and "invoke" not in row]
    told = [line for line in page.splitlines() if re.search(rf"(push|pop|ack) {MESSAGE}: ", line)]
    assert len(told) == len(done)
    assert len(page.splitlines()) < LINES_MAX + 2 * len(done) + 20


class BytesAtRest(BadlyReapedUnderTest):
    """Its end state has ids as servers answer them."""

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        yield {
            "zone": zone,
            "shard": "a",
            "place": "unack",
            "message_id": MESSAGE.encode(),
            "serving": True,
            "score": 1,
        }


def test_an_end_state_in_bytes_is_read_as_text() -> None:
    scenario = resurrecting(f"{HERE}:BadlyReapedUnderTest")
    page = story(scenario, MessageClass.RESURRECTED, make_queue=BytesAtRest)
    assert f"- {MESSAGE} in zone a: unack of shard a" in page


def test_what_a_run_is_stands_in_a_sentence() -> None:
    operations = [{"at_ms": 0, "zone": "a", "id": name, "poison": name != "o"} for name in ("n", "m", "o")]
    scenario = small(
        load={"duration_s": 1, "rate_per_s": 0.0, "operations": operations},
        faults=[{"kind": "kill", "zone": "a", "at_s": 0.1, "for_s": 0.2}],
        consumers={"per_zone": 4},
        links={"lag": "7ms"},
        **{"seed": 5, "level": "DC_ONE", "simulation": {"tie_break": "fifo"}},
    )
    assert setting_of(scenario) == (
        "Scenario small, DC_ONE, seed 5, zones a, b, c: 3 messages (poison, which kills its consumers: m, n), "
        "1 fault, 4 consumers a zone, link lag 7ms, ties broken fifo."
    )
