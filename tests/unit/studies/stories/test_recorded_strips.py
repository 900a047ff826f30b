"""Goal: what recorded commands tell of a zone is what it held, and where they do not tell it the strip says *unknown*.

Method: simulated runs, whose servers are watched, beside what their commands tell; and single commands of a few words.
"""

from typing import Any

import pytest
from support.scenarios.sim_runs import small

from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.sim.cluster import SimCluster
from zonelab.engine.ports import Command, Reply
from zonelab.scenarios.queues.places import places_of
from zonelab.scenarios.run.command_log import CommandLog, LoggedTestbed, SentCommand, ZoneAnswer, touches
from zonelab.scenarios.run.naming import MessageNaming
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.stories.recorded_strips import recorded_strips, why_not_recorded
from zonelab.studies.stories.zone_strips import ABSENT, GONE, UNKNOWN, ZoneStrips

FAULTS = [
    {"kind": "kill", "zone": "b", "at_s": 0.3, "for_s": 0.3},
    {"kind": "cut", "isolate": "c", "at_s": 0.7, "for_s": 0.2},
    {"kind": "wipe", "zone": "a", "at_s": 0.9, "for_s": 0.05},
]
QUEUE, LEASES, PAYLOADS = "zonelab.QUEUE.jobs.a", "zonelab.UNACK.jobs.a", "zonelab.MESSAGE.jobs"


def ends(scenario: Scenario, *, without: str = "") -> dict[tuple[str, str], tuple[str, str]]:
    """By message and zone the last state that commands tell, and what it was; ``without``: a command to drop."""
    log, strips = CommandLog(), {}
    ids = [f"{zone}-{number:06}" for zone in scenario.zones for number in range(12)]

    def observe(cluster: SimCluster) -> LoggedTestbed:
        for one in ids:
            strips[one] = ZoneStrips(one, places_of(scenario.queue, scenario.zones))
            strips[one].watch(cluster)
        return log.testbed(cluster)

    trial = attempt(scenario, observe=observe)
    end_ns = max(end for _, end in trial.run.record.phases.values())
    faults, kept = trial.recorded.faults(), [one for one in log.commands if one.command[0] != without]
    found = {}
    for one, strip in strips.items():
        named = [sent for sent in kept if touches(sent, [MessageNaming(one)])]
        told, true = recorded_strips(one, scenario, named, faults=faults, end_ns=end_ns), strip.spans(end_ns=end_ns)
        found |= {(one, zone): (told[zone][-1].state, true[zone][-1].state) for zone in scenario.zones}
    return found


def wrong(found: dict[tuple[str, str], tuple[str, str]]) -> list[tuple[str, str]]:
    return [
        where for where, (told, true) in found.items() if told not in (UNKNOWN, true) and {told, true} != {ABSENT, GONE}
    ]


@pytest.mark.parametrize(
    "queue",
    [{"engine": "dyno"}, {"engine": "dyno", "mode": "hardened"}, {"engine": "youzan"}, {"engine": "zset"}],
    ids=lambda queue: " ".join(queue.values()),
)
def test_what_commands_tell_under_faults_is_what_zones_held(queue: dict[str, Any]) -> None:
    found = ends(small(queue=queue, faults=FAULTS, seed=3))
    assert wrong(found) == []
    assert any(told != UNKNOWN for told, _ in found.values())


def test_without_faults_all_is_known_of_a_queue_without_scripts() -> None:
    found = ends(small(seed=3))
    assert all(told == true for told, true in found.values())


def test_a_command_that_was_dropped_is_noticed() -> None:
    assert wrong(ends(small(seed=3), without="HDEL"))


def told(*commands: tuple[Command, Reply | None], zone: str = "a") -> list[str]:
    """The states of zone a after commands at 1 s, 2 s, …, each answered half a second later; None: never."""
    sent = [
        SentCommand(
            time_ns=number * 10**9,
            program="p",
            zone=zone,
            command=command,
            answers={"a": None if reply is None else ZoneAnswer(number * 10**9 + 5 * 10**8, reply)},
        )
        for number, (command, reply) in enumerate(commands, start=1)
    ]
    spans = recorded_strips("m", small(), sent, faults=[], end_ns=100 * 10**9)
    return [one.state for one in spans["a"]]


def test_writes_tell_by_themselves_and_reads_by_their_reply() -> None:
    put, listed = (("HSET", PAYLOADS, "m", "{}"), 1), (("ZADD", QUEUE, "1", "m"), 1)
    assert told(put, listed) == [ABSENT, "payload only", "waiting"]
    assert told(put, listed, (("ZREM", QUEUE, "m"), 1), (("HDEL", PAYLOADS, "m"), 1))[-2:] == ["payload only", GONE]
    assert told((("HGET", PAYLOADS, "m"), b"{}")) == [ABSENT, "payload only"]
    assert told((("ZADD", QUEUE, "1", "other"), 1), (("ZADD", QUEUE, "XX", "1", "m"), 0)) == [ABSENT]


def test_what_is_in_doubt_is_unknown_until_it_is_told() -> None:
    doubt = ZoneFailure("ERR", maybe_applied=True)
    put: Command = ("HSET", PAYLOADS, "m", "{}")
    assert told((put, doubt)) == [ABSENT, UNKNOWN]
    assert told((put, None)) == [ABSENT, UNKNOWN]
    assert told((put, ZoneFailure("ERR", maybe_applied=False))) == [ABSENT]
    assert told((put, doubt), (("HEXISTS", PAYLOADS, "m"), 0)) == [ABSENT, UNKNOWN, ABSENT]
    assert told((("EVAL", "return 1", "1", LEASES, "m"), 1)) == [ABSENT, UNKNOWN]


def test_the_order_of_two_coordinators_is_unknown_while_both_wait() -> None:
    commands = [
        SentCommand(time_ns=1, program="p", zone="b", command=command, answers={"a": ZoneAnswer(answered_ns, 1)})
        for command, answered_ns in ((("ZADD", QUEUE, "1", "m"), 5), (("ZREM", QUEUE, "m"), 6))
    ]
    same = recorded_strips("m", small(), commands, faults=[], end_ns=10)["a"]
    assert [one.state for one in same] == [ABSENT, "waiting, no payload", GONE]
    other = SentCommand(
        **{name: getattr(commands[1], name) for name in ("time_ns", "program", "command", "answers")}, zone="c"
    )
    apart = recorded_strips("m", small(), [commands[0], other], faults=[], end_ns=10)["a"]
    assert [one.state for one in apart] == [ABSENT, "waiting, no payload", UNKNOWN]


def test_options_that_change_zones_by_themselves_leave_all_unknown() -> None:
    assert why_not_recorded(small()) == ""
    assert why_not_recorded(small(replication={"read_repair": True})).startswith("with options of replication")
    assert why_not_recorded(small(queue={"engine": "fifo"})) == "the engine fifo does not say where it keeps messages"
