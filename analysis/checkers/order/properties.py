"""What ordered messages must keep, under the names that docs/order-verdicts.md explains."""

from collections.abc import Mapping
from enum import StrEnum


class Property(StrEnum):
    """I1 to I14."""

    PRODUCED_IN_ORDER = "I1"
    ONE_LOG = "I2"
    NO_GAPS = "I3"
    STRICT_ORDER = "I4"
    FINISHED_IN_ORDER = "I5"
    EXCLUSION = "I6"
    REDELIVERY_IN_ORDER = "I7"
    FENCING = "I8"
    CURSOR = "I9"
    ONE_OWNER = "I10"
    RETRIES = "I11"
    WAITING = "I12"
    DUPLICATES = "I13"
    SINK = "I14"


LABELS: Mapping[Property, str] = {
    Property.PRODUCED_IN_ORDER: "appended in order",
    Property.ONE_LOG: "one log",
    Property.NO_GAPS: "no gaps",
    Property.STRICT_ORDER: "begun in order",
    Property.FINISHED_IN_ORDER: "finished in order",
    Property.EXCLUSION: "one at a time",
    Property.REDELIVERY_IN_ORDER: "redelivered in order",
    Property.FENCING: "tokens fence",
    Property.CURSOR: "cursor never falls",
    Property.ONE_OWNER: "one owner",
    Property.RETRIES: "attempts counted",
    Property.WAITING: "waiting bounded",
    Property.DUPLICATES: "few duplicates",
    Property.SINK: "effects in order",
}

MEANINGS: Mapping[Property, str] = {
    Property.PRODUCED_IN_ORDER: "a producer's later message of a key stands before an earlier, confirmed one",
    Property.ONE_LOG: "a confirmed message is not in the log, is there twice, or shares its offset",
    Property.NO_GAPS: "the cursor has passed a message that nobody finished",
    Property.STRICT_ORDER: "a message was begun before the one in front of it was finished",
    Property.FINISHED_IN_ORDER: "a message of a key was finished before an earlier one",
    Property.EXCLUSION: "two messages that exclude each other were in work at once",
    Property.REDELIVERY_IN_ORDER: "an owner did not go on from its cursor, one message after the other",
    Property.FENCING: "a token was granted twice or fell, or an older one was accepted",
    Property.CURSOR: "the cursor fell, or passed the end of the log",
    Property.ONE_OWNER: "two sessions owned a partition at the same time",
    Property.RETRIES: "attempts were forgotten, hurried, too many or too few, or went on after a dead letter",
    Property.WAITING: "a message waited longer for its turn than the bound, faults not counted",
    Property.DUPLICATES: "a message was finished more often than takeovers explain",
    Property.SINK: "what the sink took is not the log in order, each message once",
}

EXERCISED_BY: Mapping[Property, str] = {
    Property.PRODUCED_IN_ORDER: "messages that a producer began after an earlier one of the key was confirmed",
    Property.ONE_LOG: "confirmed messages that the log at rest reaches back to",
    Property.NO_GAPS: "messages before a cursor",
    Property.STRICT_ORDER: "messages that were begun and had another in front of them",
    Property.FINISHED_IN_ORDER: "messages that were finished and had another of their key in front of them",
    Property.EXCLUSION: "takeovers while the owner before had a message in work",
    Property.REDELIVERY_IN_ORDER: "takeovers in which the new owner began a message",
    Property.FENCING: "questions under a token that was no longer the newest",
    Property.CURSOR: "cursors told after another had been confirmed",
    Property.ONE_OWNER: "sessions that wanted a partition which another had",
    Property.RETRIES: "attempts after a failed one",
    Property.WAITING: "messages that were begun",
    Property.DUPLICATES: "messages that were finished again",
    Property.SINK: "effects that a sink took or refused",
}
"""What counts as an opportunity to break each property: with none it is not exercised, which is no pass."""

FORBIDDEN = tuple(
    one for one in Property if one not in (Property.FINISHED_IN_ORDER, Property.WAITING, Property.DUPLICATES)
)
"""What makes a run invalid unless it says otherwise. I5 follows from I4, I12 and I13 break no order."""

HARMLESS = "fenced-harmless"
"""Of I6: the older owner's message had no effect since. Counted, never forbidden."""


class Blocked(StrEnum):
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
"""So many changes of owner within one standstill are the cause of it."""

GONE = ("left", "lost", "crashed")
"""What a member's status is once its session does nothing any more."""
