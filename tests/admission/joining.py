"""A second group begins with the partition: its owner asks for the group's register, and then where it may begin."""

from collections.abc import Iterator

from admission.mechanisms import Mechanism, World
from admission.owners import heard
from admission.records import Span
from admission.state import Joiner, State, Step, joiner_slot, sends, with_zone
from admission.zone import Answer, Join

FLOOR = Answer(0)


def joining(world: World, state: State) -> Iterator[Step]:
    joiner = state.joiner
    if not joiner.sent:
        for generation in sorted({zone.data.generation for zone in state.zones}):
            text = "the second group asks all zones for its register"
            yield Step(text, _sends(world, state, joiner._replace(generation=generation)))
    yield from _hears(world, state)
    promised = joiner.sent == 1 and not joiner.awaits
    if promised or (not world.has(Mechanism.FLOOR_AFTER_PROMISE) and joiner.sent <= 1):
        yield from _reads(world, state)
    if promised:
        yield from _begins(world, state)


def _sends(world: World, state: State, joiner: Joiner) -> State:
    message = Join(joiner.generation, joiner.sent, joiner.cursor)
    return sends(world, state._replace(joiner=joiner._replace(sent=joiner.sent + 1, awaits=joiner.sent + 1)), message)


def _hears(world: World, state: State) -> Iterator[Step]:
    joiner, who = state.joiner, joiner_slot(world)
    if not joiner.awaits:
        return
    for zones, _ in heard(world, state, who):
        quiet = state._replace(zones=tuple(zone.forget(who) for zone in state.zones), joiner=joiner._replace(awaits=0))
        if joiner.sent == 1:
            yield Step(f"the second group hears {zones}: promised", quiet)
            continue
        joined = max(quiet.observed.joined, joiner.sent - 1)
        after = quiet._replace(observed=quiet.observed._replace(joined=joined))
        text = f"the second group hears {zones}: its cursor is {joiner.cursor}"
        if joiner.sent > world.bounds.joins or joiner.cursor == _end(state):
            yield Step(text, after)
        else:
            moved = after.joiner._replace(cursor=joiner.cursor + 1)
            yield Step(f"{text}; it consumes an entry and commits", _sends(world, after, moved))


def _end(state: State) -> int:
    """How long the log is that was decided."""
    return max((len(log) for _, _, log, _ in state.observed.states), default=0)


def _reads(world: World, state: State) -> Iterator[Step]:
    slot = joiner_slot(world) + 1
    known = [zone.answers[slot][0] for zone in state.zones if zone.answers[slot]]
    if len(known) == _needed(world):
        return
    for place, zone in enumerate(state.zones):
        if zone.data.admitted and not zone.answers[slot]:
            floor = FLOOR._replace(span=Span(floor=zone.data.span.floor))
            text = f"the second group reads in {{{place}}} that the floor is {floor.span.floor}"
            yield Step(text, with_zone(state, place, zone.tell(slot, floor)))


def _needed(world: World) -> int:
    return 2 if world.has(Mechanism.FLOOR_OF_TWO) else 1


def _begins(world: World, state: State) -> Iterator[Step]:
    slot = joiner_slot(world) + 1
    floors = [answer.span.floor for zone in state.zones for answer in zone.answers[slot]]
    if len(floors) == _needed(world):
        quiet = state._replace(zones=tuple(zone.forget(slot) for zone in state.zones))
        begun = state.joiner._replace(cursor=max(floors))
        yield Step(f"the second group begins at {begun.cursor}", _sends(world, quiet, begun))
