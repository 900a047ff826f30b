"""The whole world at a moment: zones, owners, messages on their way, attempts at admission, and what was observed."""

from typing import NamedTuple

from admission.mechanisms import World
from admission.records import Span, between
from admission.zone import FIRST, Answer, Data, Grant, Group, Join, Log, Message, Push, Zone, refused_for_ever

OWNERS = "ABC"
PRODUCERS = "pq"


class Owner(NamedTuple):
    """A program that wants the partition."""

    asked: bool
    writes: int
    """Writes sent; 0 while it waits for its grant."""

    waiting: bool
    token: int
    generation: int
    log: Log
    cursor: int
    floor: int
    """The highest token that anybody held when this one chose its own."""

    looked: int = 0
    """One more than the generation of the sealed zones that it has read to the end, or 0."""

    span: Span = Span()
    looking: int = 0
    """One more than the floor that was decided when it began to look how far the groups are, or 0."""

    missing: int = 0
    """Offsets of records that it has seen a zone lack."""


class Joiner(NamedTuple):
    """The owner of the second group, which has no cursor yet."""

    awaits: int = 0
    """One more than the number of the message that it waits for answers to; 0: it waits for none."""

    sent: int = 0
    """Messages sent: its question for the register, and writes."""

    generation: int = 0
    cursor: int = 0


class Attempt(NamedTuple):
    """Somebody lets a zone in, or raises the generation of those that are in."""

    generation: int
    name: int
    collected: int
    """How many others have raised their generation and told their state."""

    state: Data
    closed: bool


Seen = tuple[int, tuple[int, int], Log, int]
"""Generation, version, log and cursor of a state that somebody has seen decided."""


class Observed(NamedTuple):
    """What programs have seen decided; nothing of it may turn out otherwise."""

    states: tuple[Seen, ...]

    tokens: int
    """The highest token whose owner took over."""

    pushed: Log
    placed: tuple[tuple[int, str], ...]

    opened: bool = False
    """A group may have begun with the partition that follows."""

    joined: int = 0
    """The number of the second group's last write that was seen decided."""


class State(NamedTuple):
    zones: tuple[Zone, ...]
    owners: tuple[Owner, ...]
    sent: tuple[Message | None, ...]
    """Every owner's grant and writes, every producer's push, and what the second group sends, each at its place; None
    before it is sent, and when no zone can take it any more."""

    attempts: tuple[Attempt, ...]
    observed: Observed
    wipes: int
    copies: int
    pushes: int
    """Producers that have begun."""

    joiner: Joiner = Joiner()


class Step(NamedTuple):
    """What may happen next. ``{0}``, ``{1}`` and ``{2}`` in the text are zones, in the order of the state before."""

    text: str
    after: State
    """With its zones still in the order of the state before."""

    wrong: str = ""
    """What it breaks."""


NOBODY = Owner(False, 0, False, 0, 0, (), 0, 0)
DONE = NOBODY._replace(asked=True)


def beginning(world: World) -> State:
    bounds = world.bounds
    asking = joiner_slot(world) + (2 + len(bounds.writes) if bounds.joins else 0)
    body = "m" if bounds.producers else "e"
    log = tuple(f"{body}{number}" for number in range(1, bounds.entries + 1))
    missed = FIRST._replace(log=log, cursor=len(log), span=Span(since=len(log)))
    held = missed._replace(records=between(0, len(log)))
    joins = 1 + bounds.joins if bounds.joins else 0
    state = State(
        zones=tuple(Zone(data, ((),) * asking, 0, 0, 0) for data in (missed, held, held)),
        owners=(NOBODY,) * len(bounds.writes),
        sent=(None,) * (sum(bounds.writes) + len(bounds.writes) + bounds.producers + joins),
        attempts=(),
        observed=Observed((), 0, (), ()),
        wipes=0,
        copies=0,
        pushes=0,
    )
    return _begun(world, _owned(state, missed) if bounds.owned else state)


def _begun(world: World, state: State) -> State:
    """The second group has its answers to its first write."""
    if not world.bounds.began:
        return state
    group, slot = Group(True, 1, 0), joiner_slot(world)
    zones = (zone._replace(data=zone.data._replace(group=group)) for zone in state.zones)
    told = tuple(zone.tell(slot, Answer(0, (0, 1))) for zone in zones)
    return state._replace(zones=told, joiner=Joiner(awaits=2, sent=2))


def _owned(state: State, data: Data) -> State:
    """The first owner has written back what all zones have but for records, and seen that decided."""
    token = len(state.owners)
    owner = Owner(True, 1, False, token, 0, data.log, data.cursor, 0, span=data.span, looking=1)
    zones = (zone._replace(data=zone.data._replace(promised=token, version=(token, 0))) for zone in state.zones)
    observed = state.observed._replace(states=((0, (token, 0), data.log, data.cursor),), tokens=token)
    return with_owner(state._replace(zones=tuple(zones), observed=observed), 0, owner)


def slot(world: World, message: Message) -> int:
    """A message's place in ``State.sent``."""
    writes = world.bounds.writes
    if isinstance(message, Push):
        return sum(writes) + len(writes) + message.producer
    if isinstance(message, Join):
        return sum(writes) + len(writes) + world.bounds.producers + message.number
    number = 0 if isinstance(message, Grant) else message.version[1] + 1
    return sum(writes[: message.owner]) + message.owner + number


def joiner_slot(world: World) -> int:
    """Where zones' answers to the second group are in ``Zone.answers``: then those to its reads, and to owners that
    look how far it is."""
    return len(world.bounds.writes) + world.bounds.producers + world.bounds.resize


def sends(world: World, state: State, message: Message) -> State:
    place = slot(world, message)
    return state._replace(sent=(*state.sent[:place], message, *state.sent[place + 1 :]))


def told(cursor: int, span: Span) -> str:
    """What is not as it was in the beginning, in words."""
    named = {"cursor": cursor, "first": span.first, "floor": span.floor}
    return "".join(f", {name} {value}" for name, value in named.items() if value)


def ordered(world: World, state: State) -> State:
    """The one state that stands for all that differ in nothing that matters.

    Zones have no names in the protocol, so they are sorted. A message that every zone has taken, or refuses for ever,
    is forgotten; before all losses have happened no zone refuses for ever.
    """
    zones = state.zones
    if state.wipes == world.bounds.wipes and state.copies == world.bounds.copies:
        zones = tuple(_without_refused(world, zone, state.sent) for zone in zones)
    everywhere = zones[0].taken & zones[1].taken & zones[2].taken
    sent = tuple(None if everywhere >> number & 1 else message for number, message in enumerate(state.sent))
    return state._replace(zones=tuple(sorted(zones)), sent=sent)


def _without_refused(world: World, zone: Zone, sent: tuple[Message | None, ...]) -> Zone:
    taken = zone.taken
    for number, message in enumerate(sent):
        if message is not None and not taken >> number & 1 and refused_for_ever(world, zone.data, message):
            taken |= 1 << number
    return zone if taken == zone.taken else zone._replace(taken=taken)


def with_zone(state: State, place: int, zone: Zone) -> State:
    return state._replace(zones=(*state.zones[:place], zone, *state.zones[place + 1 :]))


def with_owner(state: State, place: int, owner: Owner) -> State:
    return state._replace(owners=(*state.owners[:place], owner, *state.owners[place + 1 :]))
