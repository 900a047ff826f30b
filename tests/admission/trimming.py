"""An owner trims the log behind the slower of two groups, its own and another, and repairs what zones missed.

It looks how far the groups are: at their names first, in two zones, and then at the cursor that two zones show alike.
"""

from collections.abc import Iterator
from itertools import combinations

from admission.mechanisms import Mechanism, World
from admission.records import between
from admission.state import OWNERS, Owner, State, Step, joiner_slot, told, with_owner, with_zone
from admission.writing import writes
from admission.zone import Answer

NAMES = -1
"""In place of a generation: what tells whether a zone knows the second group."""


def looks(world: World, state: State, place: int) -> Iterator[tuple[str, State]]:
    """It has seen a write decided, and begins to look."""
    if world.bounds.trims:
        owner = state.owners[place]
        waits = owner._replace(waiting=False, looking=owner.span.floor + 1)
        yield "looks at the groups", with_owner(state, place, waits)


def trimming(world: World, state: State) -> Iterator[Step]:
    for place, owner in enumerate(state.owners):
        if owner.looking:
            if world.bounds.joins:
                yield from _reads(world, state, place)
            if world.bounds.repairs and not owner.missing:
                yield from _compares(state, place)
            yield from _trims(world, state, place)
            for text, repaired in repairs(owner):
                yield Step(f"owner {OWNERS[place]} {text}", _written(world, state, place, repaired))


def _slot(world: World, place: int) -> int:
    return joiner_slot(world) + 2 + place


def _reads(world: World, state: State, place: int) -> Iterator[Step]:
    """Each zone by itself, whatever happens in between."""
    slot = _slot(world, place)
    known = [zone.answers[slot][0] for zone in state.zones if zone.answers[slot]]
    needed = 2 if world.has(Mechanism.NAMES_OF_TWO) else 1
    for index, zone in enumerate(state.zones):
        group, answers = zone.data.group, zone.answers[slot]
        if not zone.data.admitted:
            continue
        if len(known) < needed:
            text, answer = f"looks for groups in {{{index}}}", Answer(NAMES, (0, int(group.promised)))
        else:
            text, answer = (
                f"reads the second group's cursor in {{{index}}}",
                Answer(zone.data.generation, (1, group.number), (), group.cursor),
            )
        if answer not in answers and (answer.generation != NAMES or not answers):
            yield Step(f"owner {OWNERS[place]} {text}", with_zone(state, index, zone.tell(slot, answer)))


def _compares(state: State, place: int) -> Iterator[Step]:
    owner = state.owners[place]
    held = [zone.data.records for zone in state.zones if zone.data.admitted]
    span = between(owner.span.first, len(owner.log))
    missing = sum(1 << offset for offset in range(len(owner.log)) if any(not of >> offset & 1 for of in held)) & span
    if missing:
        text = f"owner {OWNERS[place]} sees that a zone lacks records"
        yield Step(text, with_owner(state, place, owner._replace(missing=missing)))


def repairs(owner: Owner) -> Iterator[tuple[str, Owner]]:
    """It may have trimmed meanwhile what it saw a zone lack."""
    if owner.missing:
        yield "gives zones what they lack", owner._replace(missing=0)


def _trims(world: World, state: State, place: int) -> Iterator[Step]:
    owner = state.owners[place]
    for slowest, shown in _slowest(world, state, place):
        first = min(owner.looking - 1, slowest) if world.has(Mechanism.TWO_ROUNDS) else slowest
        span = owner.span._replace(first=max(owner.span.first, first), floor=max(owner.span.floor, slowest))
        if span != owner.span:
            observed = state.observed._replace(joined=max(state.observed.joined, shown))
            after = _written(world, state._replace(observed=observed), place, owner._replace(span=span))
            yield Step(f"owner {OWNERS[place]} trims{told(0, span)}", after)


def _slowest(world: World, state: State, place: int) -> Iterator[tuple[int, int]]:
    """The cursor of the slowest group, and the second group's write that told it."""
    own, slot = state.owners[place].cursor, _slot(world, place)
    if not world.bounds.joins or not world.has(Mechanism.SLOWEST_GROUP):
        yield own, 0
        return
    answers = [zone.answers[slot] for zone in state.zones]
    names = [answer for each in answers for answer in each if answer.generation == NAMES]
    if len(names) < (2 if world.has(Mechanism.NAMES_OF_TWO) else 1):
        return
    if not any(answer.version[1] for answer in names):
        yield own, 0
        return
    for cursor, number in _shown(world, answers):
        if number:
            yield min(own, cursor), number if world.has(Mechanism.CURSOR_OF_TWO) else 0
        elif not world.has(Mechanism.COUNTS_PROMISES):
            yield own, 0


def _shown(world: World, answers: list[tuple[Answer, ...]]) -> set[tuple[int, int]]:
    """Cursors of the second group, each with the number of its write, that two zones show alike."""
    cursors = [{answer for answer in each if answer.generation != NAMES} for each in answers]
    alike = (
        {answer for one, other in combinations(cursors, 2) for answer in one & other}
        if world.has(Mechanism.CURSOR_OF_TWO)
        else set().union(*cursors)
    )
    return {(answer.cursor, answer.version[1]) for answer in alike}


def _written(world: World, state: State, place: int, owner: Owner) -> State:
    """It looks no more."""
    slot = _slot(world, place)
    zones = tuple(zone.forget(slot) for zone in state.zones) if world.bounds.joins else state.zones
    return writes(world, state._replace(zones=zones), place, owner, decided=owner.log)
