"""What happens to zones: messages arrive, data are lost, and a zone is let in again."""

from collections.abc import Iterator

from admission.mechanisms import Mechanism, World
from admission.state import OWNERS, PRODUCERS, Attempt, State, Step, joiner_slot, told, with_zone
from admission.zone import BLANK, Answer, Grant, Join, Message, Push, carry_out, given, merged


def arrivals(world: World, state: State) -> Iterator[Step]:
    """Every message arrives at every zone at any time, once, or never.

    One that changes nothing may as well come later. So may a grant whose asker has gone on: it makes a zone refuse
    more, which is no more than a slow zone does.
    """
    for number, message in enumerate(state.sent):
        if message is None or (isinstance(message, Grant) and not _awaited(state, message)):
            continue
        for place, zone in enumerate(state.zones):
            if not zone.taken >> number & 1 and _once(state, place):
                outcome = carry_out(world, zone.data, message)
                if outcome is not None:
                    data, answer = outcome
                    after = zone.take(number, data)
                    if answer is not None and _awaited(state, message):
                        after = after.tell(_who(world, state, message), answer)
                    yield Step(f"{{{place}}} {_does(message)}", with_zone(state, place, after))


def _once(state: State, place: int) -> bool:
    """Of zones that are alike in everything it is enough to try one."""
    return state.zones.index(state.zones[place]) == place


def _who(world: World, state: State, message: Message) -> int:
    if isinstance(message, Join):
        return joiner_slot(world)
    return len(state.owners) + message.producer if isinstance(message, Push) else message.owner


def _awaited(state: State, message: Message) -> bool:
    """Whether the sender still waits for an answer to just this message."""
    if isinstance(message, Push):
        placed = {body for _, body in state.observed.placed}
        return message.body not in placed and message.body not in state.observed.pushed
    if isinstance(message, Join):
        return state.joiner.awaits == message.number + 1
    owner = state.owners[message.owner]
    if not owner.waiting:
        return False
    return owner.writes == 0 if isinstance(message, Grant) else message.version[1] == owner.writes - 1


def _does(message: Message) -> str:
    if isinstance(message, Push):
        return f"takes {message.body} of producer {PRODUCERS[message.producer]}"
    if isinstance(message, Grant):
        return f"grants token {message.token} to owner {OWNERS[message.owner]}"
    if isinstance(message, Join):
        wrote = f"takes the second group's cursor {message.cursor}, write {message.number}"
        return wrote if message.number else "promises the second group its register"
    log = " ".join(message.log) or "no entries"
    number = f"write {message.version[1]} of owner {OWNERS[message.owner]} under token {message.version[0]}"
    return f"takes {number}: {log}" + told(message.cursor, message.span)


def looks(world: World, state: State) -> Iterator[Step]:
    """An owner reads zones singly: a zone that shows its write now, in whatever generation, counts as an answer.

    Where messages are sent again it has to have promised nothing to others since.
    """
    strict = world.bounds.resends and world.has(Mechanism.UNCLAIMED)
    for who, owner in enumerate(state.owners):
        if not owner.waiting or owner.writes == 0:
            continue
        version = (owner.token, owner.writes - 1)
        for place, zone in enumerate(state.zones):
            answer = Answer(zone.data.generation, version)
            shows = zone.data.version == version and (zone.data.promised == owner.token or not strict)
            if zone.data.admitted and shows and answer not in zone.answers[who]:
                text = f"owner {OWNERS[who]} reads {{{place}}}, which shows its write"
                yield Step(text, with_zone(state, place, zone.tell(who, answer)))


def losses(world: World, state: State) -> Iterator[Step]:
    for place, zone in enumerate(state.zones):
        if not _once(state, place) or not zone.data.admitted:
            continue
        if state.wipes < world.bounds.wipes:
            blank = BLANK._replace(admitted=not world.has(Mechanism.MARK))
            after = with_zone(state, place, zone._replace(data=blank))._replace(wipes=state.wipes + 1)
            yield Step(f"{{{place}}} is wiped", after)
        if state.copies < world.bounds.copies:
            for source, other in enumerate(state.zones):
                if source != place and other.data.admitted and other.data._replace(door=0) != zone.data:
                    kept = not world.has(Mechanism.COPY_DROPS_MARK)
                    copy = other.data._replace(admitted=kept, door=0)
                    after = with_zone(state, place, zone._replace(data=copy))._replace(copies=state.copies + 1)
                    yield Step(f"{{{place}}} comes back as a copy of {{{source}}}", after)


def admissions(world: World, state: State) -> Iterator[Step]:
    for number, attempt in enumerate(state.attempts, start=1):
        if not attempt.closed:
            yield from _raises(world, state, number, attempt)
            yield from _lets_in(world, state, number, attempt)
    if len(state.attempts) < world.bounds.admissions:
        for place, zone in enumerate(state.zones):
            if not zone.data.admitted and _once(state, place):
                yield from _opens(world, state, place)


def _opens(world: World, state: State, place: int) -> Iterator[Step]:
    """Nobody says that the attempt that begins later has the higher name."""
    number = len(state.attempts) + 1
    others = [zone.data.generation for index, zone in enumerate(state.zones) if index != place]
    used = {attempt.name for attempt in state.attempts}
    for name in sorted({*range(1, world.bounds.admissions + 1)} - used):
        yield _opened(world, state, place, Attempt(fresh(world, max(others), name), name, 0, BLANK, False), number)


def _opened(world: World, state: State, place: int, attempt: Attempt, number: int) -> Step:
    zone = state.zones[place]
    opened = zone._replace(target=zone.target | 1 << number, data=zone.data._replace(door=number))
    after = with_zone(state, place, opened)._replace(attempts=(*state.attempts, attempt))
    aim = f", in generation {attempt.generation}" if world.has(Mechanism.GENERATION) else ""
    return Step(f"attempt {number} to let {{{place}}} in begins{aim}", after)


def fresh(world: World, highest: int, name: int) -> int:
    """A generation above all that are known, which no attempt of another name uses."""
    if not world.has(Mechanism.FRESH_GENERATION):
        return highest + 1
    most = world.bounds.admissions + 1
    return (highest // most + 1) * most + name


def _raises(world: World, state: State, number: int, attempt: Attempt) -> Iterator[Step]:
    """Another zone takes the new generation and tells its state, in one step."""
    if attempt.collected == needed(world):
        return
    for place, zone in enumerate(state.zones):
        if zone.target >> number & 1 or zone.raised >> number & 1 or not zone.data.admitted or not _once(state, place):
            continue
        data, told = zone.data, ""
        if world.has(Mechanism.GENERATION):
            if data.generation >= attempt.generation:
                continue
            data, told = data._replace(generation=attempt.generation), f"takes generation {attempt.generation} and "
        known = merged(attempt.state, data) if attempt.collected else data
        after = with_zone(state, place, zone._replace(data=data, raised=zone.raised | 1 << number))
        grown = attempt._replace(collected=attempt.collected + 1, state=known)
        yield Step(f"{{{place}}} {told}tells attempt {number} its state", _with_attempt(after, number, grown))


def needed(world: World) -> int:
    return 2 if world.has(Mechanism.BOTH_OTHERS) else 1


def _lets_in(world: World, state: State, number: int, attempt: Attempt) -> Iterator[Step]:
    if attempt.collected < needed(world):
        return
    place = next(index for index, zone in enumerate(state.zones) if zone.target >> number & 1)
    zone = state.zones[place]
    if world.has(Mechanism.DOOR) and zone.data.door != number:
        return
    if zone.data.admitted:
        return
    data = given(world, attempt.state)
    if world.has(Mechanism.GENERATION):
        data = data._replace(generation=attempt.generation)
    taken = 0 if world.bounds.resends else zone.taken
    after = with_zone(state, place, zone._replace(data=data, taken=taken))
    closed = _with_attempt(after, number, attempt._replace(closed=True, state=BLANK))
    yield Step(f"attempt {number} writes the merged state to {{{place}}}, which is in again", closed)


def _with_attempt(state: State, number: int, attempt: Attempt) -> State:
    return state._replace(attempts=(*state.attempts[: number - 1], attempt, *state.attempts[number:]))
