"""Properties that ordered messages must keep, under the names that docs/order-verdicts.md explains."""

from enum import StrEnum

from zonelab.analysis.case_class import CaseClass


class Property(CaseClass):
    """I1 to I14. ``label``: the property in a few words; ``summary``: how it is broken.

    ``exercised_by``: what counts as an opportunity to break it. With none it is not exercised, which is no pass.
    """

    label: str
    exercised_by: str

    def __init__(self, value: str, label: str = "", summary: str = "", exercised_by: str = "") -> None:
        super().__init__(value, summary, f"{{count}} times {summary}")
        self.label, self.exercised_by = label, exercised_by

    @property
    def words(self) -> str:
        """Return the name with the label, as in ``I4 (begun in order)``."""
        return f"{self.value} ({self.label})"

    PRODUCED_IN_ORDER = (
        "I1",
        "appended in order",
        "a producer's later message of a key stands before an earlier, confirmed one",
        "messages that a producer began after an earlier one of the key was confirmed",
    )
    ONE_LOG = (
        "I2",
        "one log",
        "a confirmed message is not in the log, is there twice, or shares its offset",
        "confirmed messages that the log at rest reaches back to",
    )
    NO_GAPS = "I3", "no gaps", "the cursor has passed a message that nobody finished", "messages before a cursor"
    STRICT_ORDER = (
        "I4",
        "begun in order",
        "a message was begun before the one in front of it was finished",
        "messages that were begun and had another in front of them",
    )
    FINISHED_IN_ORDER = (
        "I5",
        "finished in order",
        "a message of a key was finished before an earlier one",
        "messages that were finished and had another of their key in front of them",
    )
    EXCLUSION = (
        "I6",
        "one at a time",
        "two messages that exclude each other were in work at once",
        "takeovers while the owner before had a message in work",
    )
    REDELIVERY_IN_ORDER = (
        "I7",
        "redelivered in order",
        "an owner did not go on from its cursor, one message after the other",
        "takeovers in which the new owner began a message",
    )
    FENCING = (
        "I8",
        "tokens fence",
        "a token was granted twice or fell, or an older one was accepted",
        "questions under a token that was no longer the newest",
    )
    CURSOR = (
        "I9",
        "cursor never falls",
        "the cursor fell, or passed the end of the log",
        "cursors told after another had been confirmed",
    )
    ONE_OWNER = (
        "I10",
        "one owner",
        "two sessions owned a partition at the same time",
        "sessions that wanted a partition which another had",
    )
    RETRIES = (
        "I11",
        "attempts counted",
        "attempts were forgotten, hurried, too many or too few, or went on after a dead letter",
        "attempts after a failed one",
    )
    WAITING = (
        "I12",
        "waiting bounded",
        "a message waited longer for its turn than the bound, faults not counted",
        "messages that were begun",
    )
    DUPLICATES = (
        "I13",
        "few duplicates",
        "a message was finished more often than takeovers explain",
        "messages that were finished again",
    )
    SINK = (
        "I14",
        "effects in order",
        "what the sink took is not the log in order, each message once",
        "effects that a sink took or refused",
    )


FORBIDDEN = tuple(
    one for one in Property if one not in (Property.FINISHED_IN_ORDER, Property.WAITING, Property.DUPLICATES)
)
"""Properties whose breach makes a run invalid unless it says otherwise. I5 follows from I4, I12 and I13 break
no order.
"""

HARMLESS = "fenced-harmless"
"""Sort of I6: the older owner's message had no effect since. Counted, never forbidden."""


class Blockage(StrEnum):
    """Why a partition stood still."""

    UNADMITTED = "unadmitted"
    CURSOR_AHEAD = "cursor ahead"
    POISON = "poison"
    HUNG = "hung"
    THRASH = "thrash"
    DEAD_HOLDER = "dead holder"
    ORPHAN = "orphan"
    SUSPENDED = "suspended"
    CREDIT = "credit"
    SLOW = "slow"
    UNEXPLAINED = "unexplained"


THRASH_GRANTS = 4
"""Changes of owner within one standstill that count as its cause."""

GONE = ("left", "lost", "crashed")
"""Statuses of a member whose session does nothing any more."""
