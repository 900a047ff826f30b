"""One violation of one class each, planted into a run of which the message ``bad`` is no part yet."""

from collections.abc import Callable

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.builder import RunBuilder


def plant_lost(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)


def plant_stuck(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    run.listed("bad", zone="b", place="queue")
    run.payload("bad", zone="b")


def plant_stuck_after_delivery(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    run.pop("bad", at_ms=20)
    run.listed("bad", zone="a", place="unack")
    run.payload("bad", zone="a")


def plant_not_due(run: RunBuilder) -> None:
    run.push("bad", at_ms=10, due_ms=30_000)  # the drain ends at 20,000
    run.listed("bad", zone="a")
    run.payload("bad", zone="a")


def plant_unserved(run: RunBuilder) -> None:
    run.push("bad", at_ms=10, due_ms=15_000)
    for zone in "abc":
        run.listed("bad", zone=zone)
        run.payload("bad", zone=zone)
    run.push("backlog", at_ms=10, due_ms=16_000)
    run.ack("backlog", run.pop("backlog", at_ms=19_500), at_ms=19_510)  # the drain ends at 20,000


def plant_abandoned(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    run.pop("bad", at_ms=20)


def plant_abandoned_elsewhere(run: RunBuilder) -> None:
    plant_abandoned(run)
    run.listed("bad", zone="b", place="queue")  # only where its own consumers do not look
    run.payload("bad", zone="b")


def plant_unexpected(run: RunBuilder) -> None:
    run.ack("bad", run.pop("bad", at_ms=20), at_ms=30)


def plant_unexpected_after_failure(run: RunBuilder) -> None:
    run.push("bad", at_ms=10, outcome="fail")
    plant_unexpected(run)


def plant_unexpected_body(run: RunBuilder) -> None:
    run.push("bad", at_ms=5, outcome="fail", body="refused")
    run.push("bad", at_ms=10, body="confirmed")
    run.ack("bad", run.pop("bad", at_ms=20, body="refused"), at_ms=30)


def plant_recovered(run: RunBuilder) -> None:
    run.push("bad", at_ms=10, outcome=None)
    run.ack("bad", run.pop("bad", at_ms=20), at_ms=30)


def plant_early(run: RunBuilder) -> None:
    run.push("bad", at_ms=10, due_ms=100)
    run.ack("bad", run.pop("bad", at_ms=90, took_ms=8), at_ms=110)  # answered 2 ms before it was due


def plant_concurrent(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    run.pop("bad", at_ms=20, lease_end_ms=300)
    second = run.pop("bad", at_ms=280, took_ms=19, lease_end_ms=600)  # held 1 ms before the first lease ended
    run.ack("bad", second, at_ms=310)


def plant_concurrent_in_extended_lease(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    first = run.pop("bad", at_ms=20, lease_end_ms=300)
    run.extend("bad", first, at_ms=200, lease_end_ms=700)
    second = run.pop("bad", at_ms=600, took_ms=20, lease_end_ms=1_000)
    run.ack("bad", second, at_ms=710)


def plant_resurrected(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    run.ack("bad", run.pop("bad", at_ms=20, lease_end_ms=300), at_ms=30, took_ms=1)
    run.ack("bad", run.pop("bad", at_ms=32, lease_end_ms=400), at_ms=50)


def plant_redelivered(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    run.pop("bad", at_ms=20, lease_end_ms=300)
    run.ack("bad", run.pop("bad", at_ms=295, took_ms=5, lease_end_ms=600), at_ms=310)


def plant_zombie_ack(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    run.ack("bad", run.pop("bad", at_ms=20, lease_end_ms=300), at_ms=301)


def plant_late(run: RunBuilder) -> None:
    run.push("bad", at_ms=10, due_ms=100)
    run.ack("bad", run.pop("bad", at_ms=5_100, took_ms=1), at_ms=5_110)  # answered 5,001 ms after it was due


def plant_overlap_of_a_program_that_stood_still(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    slow = run.pop("bad", at_ms=20, lease_end_ms=300, process="slow")
    quick = run.pop("bad", at_ms=310, took_ms=5, lease_end_ms=600, process="quick")
    run.ack("bad", quick, at_ms=330)
    run.ack("bad", slow, at_ms=900, outcome="fail", error="no lease")


def plant_overlap_with_a_program_that_is_never_heard_of_again(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    run.pop("bad", at_ms=20, lease_end_ms=300, process="hung")
    run.ack("bad", run.pop("bad", at_ms=310, lease_end_ms=600, process="quick"), at_ms=330)


def plant_orphan(run: RunBuilder) -> None:
    run.payload("bad", zone="c")


def plant_phantom(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    run.ack("bad", run.pop("bad", at_ms=20), at_ms=30)
    run.listed("bad", zone="c", place="unack")


def plant_dead_letter(run: RunBuilder) -> None:
    plant_abandoned(run)
    run.listed("bad", zone="b", place="dead")
    run.payload("bad", zone="b")


def plant_stuck_beside_a_dead_letter(run: RunBuilder) -> None:
    plant_stuck_after_delivery(run)
    run.listed("bad", zone="b", place="dead")
    run.payload("bad", zone="b")


def plant_lost_as_a_dead_letter_that_nobody_had(run: RunBuilder) -> None:
    run.push("bad", at_ms=10)
    run.listed("bad", zone="b", place="dead")
    run.payload("bad", zone="b")


def plant_priority_inversion(run: RunBuilder) -> None:
    for message_id, priority, pop_ms in (("other", 9, 100), ("bad", 1, 150)):
        run.push(message_id, at_ms=10, due_ms=50, priority=priority)
        run.ack(message_id, run.pop(message_id, at_ms=pop_ms), at_ms=200)


PLANTS: dict[Callable[[RunBuilder], None], MessageClass] = {
    plant_lost: MessageClass.LOST,
    plant_stuck: MessageClass.STUCK,
    plant_stuck_after_delivery: MessageClass.STUCK,
    plant_not_due: MessageClass.NOT_DUE,
    plant_unserved: MessageClass.UNSERVED,
    plant_abandoned: MessageClass.ABANDONED,
    plant_abandoned_elsewhere: MessageClass.ABANDONED,
    plant_unexpected: MessageClass.UNEXPECTED,
    plant_unexpected_after_failure: MessageClass.UNEXPECTED,
    plant_unexpected_body: MessageClass.UNEXPECTED,
    plant_recovered: MessageClass.RECOVERED,
    plant_early: MessageClass.EARLY,
    plant_concurrent: MessageClass.CONCURRENT,
    plant_concurrent_in_extended_lease: MessageClass.CONCURRENT,
    plant_resurrected: MessageClass.RESURRECTED,
    plant_redelivered: MessageClass.REDELIVERED,
    plant_zombie_ack: MessageClass.ZOMBIE_ACK,
    plant_late: MessageClass.LATE,
    plant_overlap_of_a_program_that_stood_still: MessageClass.OVERLAP,
    plant_overlap_with_a_program_that_is_never_heard_of_again: MessageClass.OVERLAP,
    plant_orphan: MessageClass.ORPHAN,
    plant_phantom: MessageClass.PHANTOM,
    plant_dead_letter: MessageClass.DEAD_LETTER,
    plant_stuck_beside_a_dead_letter: MessageClass.STUCK,
    plant_lost_as_a_dead_letter_that_nobody_had: MessageClass.LOST,
    plant_priority_inversion: MessageClass.PRIORITY_INVERSION,
}
