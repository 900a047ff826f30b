"""What protects a partition, each part with a switch, and how far a search goes."""

from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

COUNTEREXAMPLES = Path(__file__).with_name("counterexamples.json")
"""The way to what goes wrong without each mechanism: the choices that ``admission.search.replayed`` makes again."""


class Mechanism(Enum):
    """A part of the protocol; the value is its name on the command line."""

    TWO_ALIKE = "two-alike"
    BALLOT = "ballot"
    WHOLE_STATE = "whole-state"
    ONE_WRITER = "one-writer"
    LEAVES_LATER = "leaves-later"
    SHOWN_BY_TWO = "shown-by-two"
    MARK = "mark"
    COPY_DROPS_MARK = "copy-drops-mark"
    GENERATION = "generation"
    BOTH_OTHERS = "both-others"
    DOOR = "door"
    FRESH_GENERATION = "fresh-generation"
    SEAL = "seal"
    SEALED_PAIR = "sealed-pair"
    BARRIER = "barrier"
    SLOWEST_GROUP = "slowest-group"
    CURSOR_OF_TWO = "cursor-of-two"
    NAMES_OF_TWO = "names-of-two"
    COUNTS_PROMISES = "counts-promises"
    TWO_ROUNDS = "two-rounds"
    FLOOR_AFTER_PROMISE = "floor-after-promise"
    FLOOR_OF_TWO = "floor-of-two"
    FIRST_IN_STATE = "first-in-state"
    RECORDS_WITH_STATE = "records-with-state"
    REPAIR_FROM_FIRST = "repair-from-first"
    COPY_FROM_FIRST = "copy-from-first"
    GROUPS_COPIED = "groups-copied"
    NUMBERS_STAY = "numbers-stay"
    UNCLAIMED = "unclaimed"


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a mechanism does, what is done without it, and where a search without it finds a counterexample."""

    numeral: str
    on: str
    off: str
    bounds: str


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How much may happen; within that a search is exhaustive."""

    writes: tuple[int, ...]
    """For each owner how many writes it makes: the first writes back what it took over."""

    producers: int = 0
    """Producers, each with one push. Without any an owner appends entries of its own."""

    wipes: int = 0
    copies: int = 0
    admissions: int = 0
    """Attempts to let a zone in again, or to raise the generation of the others."""

    reads: bool = True
    """Whether owners read zones singly, beside hearing their answers."""

    resize: bool = False
    """Whether the partition may be sealed, and another one follow it."""

    entries: int = 0
    """So many the log has at the beginning, all of them consumed by the group whose owners write it. The record of each
    is in two zones, and which records a zone has is followed then."""

    trims: bool = False
    """Whether owners trim the log."""

    resends: bool = False
    """Whether what was sent is sent again in every generation, under the same token."""

    owned: bool = False
    """Whether the first owner has the partition at the beginning, and looks at the groups."""

    repairs: bool = False
    """Whether owners give zones the records that they lack."""

    joins: int = 0
    """Writes of the second group: the first says where it begins, and each other one consumes an entry."""

    began: bool = False
    """Whether the first of them was decided at the beginning, in front of all entries."""


@dataclass(frozen=True, kw_only=True)
class World:
    """Mechanisms that are off, and bounds."""

    bounds: Bounds
    off: frozenset[Mechanism] = field(default_factory=frozenset)

    def has(self, mechanism: Mechanism) -> bool:
        return mechanism not in self.off

    def without(self, *mechanisms: Mechanism) -> "World":
        return replace(self, off=self.off | set(mechanisms))


BOUNDS = {
    "takeover": Bounds(writes=(3, 3)),
    "split": Bounds(writes=(2, 2, 0)),
    "producers": Bounds(writes=(2, 1), producers=2),
    "push": Bounds(writes=(2, 1), producers=1),
    "push and wipe": Bounds(writes=(2, 1), producers=1, wipes=1, admissions=1),
    "wipe": Bounds(writes=(2, 2), wipes=1, admissions=1),
    "copy": Bounds(writes=(2, 1), copies=1, admissions=1),
    "late replies": Bounds(writes=(2, 1), wipes=1, admissions=1, reads=False),
    "seal": Bounds(writes=(2,), producers=1, resize=True),
    "resize": Bounds(writes=(2, 1), producers=1, resize=True),
    "barrier": Bounds(writes=(3, 1), resize=True),
    "resize and wipe": Bounds(writes=(2,), producers=1, wipes=1, admissions=1, resize=True),
    "join": Bounds(writes=(3,), entries=1, trims=True, owned=True, joins=1, reads=False),
    "trim": Bounds(writes=(3,), entries=1, trims=True, owned=True, joins=2, reads=False),
    "cursor": Bounds(writes=(3,), entries=1, trims=True, owned=True, joins=2, began=True, reads=False),
    "trim and takeover": Bounds(writes=(3, 2), entries=1, trims=True, reads=False),
    "trim and wipe": Bounds(writes=(3,), entries=1, trims=True, wipes=1, admissions=1),
    "trim and push": Bounds(writes=(4,), producers=1, entries=1, trims=True),
    "trim and repair": Bounds(writes=(4,), entries=1, trims=True, repairs=True),
    "resend": Bounds(writes=(2, 1), wipes=1, admissions=1, resends=True),
    "join and wipe": Bounds(
        writes=(2,), entries=1, trims=True, owned=True, joins=1, wipes=1, admissions=1, reads=False
    ),
    "two losses": Bounds(writes=(1, 1), wipes=2, admissions=2),
}

PARTS = {
    Mechanism.TWO_ALIKE: Part(
        numeral="i",
        on="a decision needs two zones that answer alike",
        off="DC_QUORUM's rule: where three answers differ the first one counts",
        bounds="split",
    ),
    Mechanism.BALLOT: Part(
        numeral="ii",
        on="a grant tells the zone's state, and the newest of two is taken over",
        off="a token is a counter, and an owner goes on from what any one zone holds",
        bounds="takeover",
    ),
    Mechanism.WHOLE_STATE: Part(
        numeral="iii",
        on="a write carries the whole state, and a zone takes what is newer",
        off="a write is a difference: a zone takes it only on top of the one before",
        bounds="takeover",
    ),
    Mechanism.ONE_WRITER: Part(
        numeral="iv",
        on="producers add to an inbox, and the owner gives offsets",
        off="producers append, and every zone gives offsets by itself",
        bounds="producers",
    ),
    Mechanism.LEAVES_LATER: Part(
        numeral="iv",
        on="a push leaves the inboxes with the write after the one that gave it an offset, which was decided by then",
        off="it leaves a zone's inbox in the write that gives it an offset",
        bounds="push",
    ),
    Mechanism.SHOWN_BY_TWO: Part(
        numeral="v",
        on="only what two zones hold alike is consumed",
        off="what one zone holds is consumed",
        bounds="takeover",
    ),
    Mechanism.MARK: Part(
        numeral="vi",
        on="a zone that lost its data answers *unadmitted*",
        off="it answers, as if it had never voted",
        bounds="wipe",
    ),
    Mechanism.COPY_DROPS_MARK: Part(
        numeral="vi",
        on="so does one that comes back as a copy of another",
        off="the copy is in office, since the mark was copied, too",
        bounds="copy",
    ),
    Mechanism.GENERATION: Part(
        numeral="vi",
        on="both others take a new generation first, and answers count only within one",
        off="answers count whenever they were given",
        bounds="late replies",
    ),
    Mechanism.BOTH_OTHERS: Part(
        numeral="vi",
        on="a zone is let in with the merged state of both others",
        off="with the state of one other",
        bounds="late replies",
    ),
    Mechanism.SEAL: Part(
        numeral="resize",
        on="a zone that has the seal takes no push",
        off="it takes them, and the log ends when the inboxes of two zones with the seal have nothing more",
        bounds="seal",
    ),
    Mechanism.SEALED_PAIR: Part(
        numeral="resize",
        on="the log ends when two zones that have the seal have nothing more",
        off="when any two zones have nothing more",
        bounds="seal",
    ),
    Mechanism.BARRIER: Part(
        numeral="resize",
        on="the partition that follows is opened when two zones show alike that the group is at the end",
        off="when one zone shows it",
        bounds="barrier",
    ),
    Mechanism.SLOWEST_GROUP: Part(
        numeral="trim",
        on="a log is trimmed behind the slower of two cursors",
        off="behind that of the group whose owner writes it",
        bounds="cursor",
    ),
    Mechanism.CURSOR_OF_TWO: Part(
        numeral="trim",
        on="a cursor counts that two zones show alike",
        off="one that one zone shows",
        bounds="cursor",
    ),
    Mechanism.NAMES_OF_TWO: Part(
        numeral="trim",
        on="a group that two zones do not know had not asked for its register",
        off="one that one zone does not know",
        bounds="join",
    ),
    Mechanism.COUNTS_PROMISES: Part(
        numeral="trim",
        on="nothing is trimmed while a register is promised that has no cursor",
        off="such a group does not count",
        bounds="join",
    ),
    Mechanism.TWO_ROUNDS: Part(
        numeral="trim",
        on="what is trimmed lay in front of a floor that was decided before cursors were read",
        off="what lies in front of the cursors goes at once",
        bounds="join",
    ),
    Mechanism.FLOOR_AFTER_PROMISE: Part(
        numeral="trim",
        on="a group begins at a floor that it reads after it was promised its register",
        off="it may have read it before",
        bounds="join",
    ),
    Mechanism.FLOOR_OF_TWO: Part(
        numeral="trim",
        on="the higher floor of two zones counts",
        off="that of one zone",
        bounds="join",
    ),
    Mechanism.FIRST_IN_STATE: Part(
        numeral="trim",
        on="a zone that takes a state deletes what lies in front of its first record",
        off="it deletes what the write tells it to, and makes up for no trim that it missed",
        bounds="trim and repair",
    ),
    Mechanism.RECORDS_WITH_STATE: Part(
        numeral="trim",
        on="a zone takes the records of a write only with its state",
        off="those of an older write, too",
        bounds="trim and repair",
    ),
    Mechanism.REPAIR_FROM_FIRST: Part(
        numeral="trim",
        on="a repair brings nothing that was trimmed since it was missed",
        off="it brings what a zone was seen to lack",
        bounds="trim and repair",
    ),
    Mechanism.COPY_FROM_FIRST: Part(
        numeral="trim",
        on="a zone is let in without what lies in front of the first record",
        off="with the records of both others",
        bounds="trim and wipe",
    ),
    Mechanism.GROUPS_COPIED: Part(
        numeral="trim",
        on="a zone is let in with the registers of all groups",
        off="with that of the log",
        bounds="join and wipe",
    ),
    Mechanism.NUMBERS_STAY: Part(
        numeral="trim",
        on="the log has the numbers of pushes whose records were trimmed",
        off="it forgets them with the records",
        bounds="trim and push",
    ),
}
"""Of the mechanisms that must not be missing."""

SMALLER = {Mechanism.BARRIER: Bounds(writes=(2, 1), resize=True)}
"""Bounds in which a counterexample as short is found sooner than in those of the page."""


def found_in(part: Mechanism) -> Bounds:
    """The bounds in which the counterexample without ``part`` is looked for."""
    return SMALLER.get(part, BOUNDS[PARTS[part].bounds])
