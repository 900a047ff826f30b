"""What owners and producers do: ask, hear, write, and what they take as decided."""

from collections.abc import Iterator
from itertools import combinations

from admission.mechanisms import Mechanism, World
from admission.state import DONE, OWNERS, PRODUCERS, Owner, Seen, State, Step, sends, told, with_owner
from admission.trimming import looks, repairs
from admission.writing import writes
from admission.zone import END, Answer, Grant, Push


def actions(world: World, state: State) -> Iterator[Step]:
    for place, owner in enumerate(state.owners):
        if not owner.asked:
            if place == 0 or state.owners[place - 1].asked:
                yield from _asks(world, state, place)
        elif owner.waiting:
            for text, answers in heard(world, state, place):
                yield from _goes_on(world, state, place, answers, text)
            if not world.has(Mechanism.SHOWN_BY_TWO):
                yield from _consumes_early(state, place)
    if state.pushes < world.bounds.producers:
        yield from _pushes(world, state)
    for producer in range(state.pushes):
        yield from _confirmed(world, state, producer)


def _asks(world: World, state: State, place: int) -> Iterator[Step]:
    """With a token above that of some zone, in the generation of some zone."""
    owners = len(world.bounds.writes)
    unique = world.has(Mechanism.BALLOT)
    seen = sorted({(zone.data.promised // (owners if unique else 1), zone.data.generation) for zone in state.zones})
    for counter, generation in seen:
        token = (counter + 1) * owners + place if unique else counter + 1
        owner = Owner(True, 0, True, token, generation, (), 0, state.observed.tokens)
        after = with_owner(state, place, owner)
        ask = Grant(place, token, generation)
        text = f"owner {OWNERS[place]} asks all zones for token {token}{_in(generation)}"
        yield Step(text, sends(world, after, ask))


def _in(generation: int) -> str:
    return f" in generation {generation}" if generation else ""


def heard(world: World, state: State, who: int) -> Iterator[tuple[str, tuple[Answer, ...]]]:
    """Sets of answers that decide the last question of an owner or a producer."""
    for one, other in combinations(range(3), 2):
        for first in state.zones[one].answers[who]:
            for second in state.zones[other].answers[who]:
                if not world.has(Mechanism.GENERATION) or first.generation == second.generation:
                    yield f"{{{one}}} and {{{other}}}", (first, second)
    if not world.has(Mechanism.TWO_ALIKE) and who < len(state.owners):
        yield from _first_of_three(state, who)


def _first_of_three(state: State, who: int) -> Iterator[tuple[str, tuple[Answer, ...]]]:
    """DC_QUORUM's rule where three zones answer differently: the first answer is the answer."""
    for place, zone in enumerate(state.zones):
        others = [data for other, (data, *_) in enumerate(state.zones) if other != place]
        refusals = {data.promised if data.admitted else -1 for data in others}
        token = state.owners[who].token
        refused = all(data.promised > token or not data.admitted for data in others)
        silent = not any(other.answers[who] for index, other in enumerate(state.zones) if index != place)
        if silent and refused and len(refusals) == 2:
            for answer in zone.answers[who]:
                yield f"{{{place}}} alone, the first of three unlike answers", (answer,)


def _goes_on(world: World, state: State, place: int, answers: tuple[Answer, ...], zones: str) -> Iterator[Step]:
    owner = state.owners[place]
    quiet = state._replace(zones=tuple(zone.forget(place) for zone in state.zones))
    name = f"owner {OWNERS[place]} hears {zones}"
    if owner.writes == 0:
        for base in _bases(world, answers):
            if world.bounds.writes[place] == 0:
                yield Step(f"{name}: granted", with_owner(quiet, place, DONE))
                continue
            taken = owner._replace(log=base.log, cursor=base.cursor, span=base.span)
            after = writes(world, with_owner(quiet, place, taken), place, taken, follows=base.version)
            yield Step(f"{name}: granted; it writes back {_told(taken)}", after)
        return
    decided, wrong = _decided(quiet, owner, max(answer.generation for answer in answers))
    name = f"{name}: decided is {_told(owner)}"
    if owner.writes == world.bounds.writes[place] or wrong:
        yield Step(name, with_owner(decided, place, DONE), wrong)
        return
    for text, waits in looks(world, decided, place):
        yield Step(f"{name}; it {text}", waits)
    for text, longer in _next(world, decided, place, owner):
        if END in longer.log:
            decided = decided._replace(zones=tuple(zone.look_away(place) for zone in decided.zones))
            longer = longer._replace(looked=0)
        yield Step(f"{name}; it {text}", writes(world, decided, place, longer, decided=owner.log))


def _bases(world: World, answers: tuple[Answer, ...]) -> list[Answer]:
    """What a new owner takes over: the newest of what it was told, or what any one zone has."""
    if not world.has(Mechanism.BALLOT):
        return sorted(set(answers))
    newest = max(answer.version for answer in answers)
    return sorted({answer for answer in answers if answer.version == newest})


def _next(world: World, state: State, place: int, owner: Owner) -> Iterator[tuple[str, Owner]]:
    yield from repairs(owner)
    if owner.cursor < len(owner.log) and owner.log[owner.cursor] != END:
        yield f"consumes {owner.log[owner.cursor]} and commits", owner._replace(cursor=owner.cursor + 1)
    if END in owner.log:
        return
    if sum(zone.looked >> place & 1 for zone in state.zones) >= 2:
        yield "ends the log", owner._replace(log=(*owner.log, END))
    if not world.bounds.producers:
        body = f"{OWNERS[place].lower()}{owner.writes}"
        yield f"appends {body}", owner._replace(log=(*owner.log, body))
    elif world.has(Mechanism.ONE_WRITER):
        waiting = {body for zone in state.zones if zone.data.admitted for body in zone.data.inbox}
        known = owner.log if world.has(Mechanism.NUMBERS_STAY) else owner.log[owner.span.first :]
        for body in sorted(waiting - set(known)):
            yield f"appends {body} of the inbox", owner._replace(log=(*owner.log, body))


def _consumes_early(state: State, place: int) -> Iterator[Step]:
    """What one zone shows is handed out."""
    owner = state.owners[place]
    for index, zone in enumerate(state.zones):
        for answer in zone.answers[place]:
            if owner.writes > 1 and len(owner.log) > owner.cursor:
                version = (owner.token, owner.writes - 1)
                after, wrong = observe(state, answer.generation, version, owner.log, owner.cursor)
                if after != state:
                    yield Step(f"owner {OWNERS[place]} consumes {owner.log[-1]}, which {{{index}}} shows", after, wrong)


def _decided(state: State, owner: Owner, generation: int) -> tuple[State, str]:
    """The state with what an owner has seen decided, and what is wrong with that."""
    version = (owner.token, owner.writes - 1)
    after, wrong = observe(state, generation, version, owner.log, owner.cursor)
    if owner.writes == 1:
        if owner.token <= owner.floor:
            wrong = wrong or f"token {owner.token} was granted after token {owner.floor}"
        tokens = max(owner.token, after.observed.tokens)
        after = after._replace(observed=after.observed._replace(tokens=tokens))
    return after, wrong


def observe(
    state: State, generation: int, version: tuple[int, int], log: tuple[str, ...], cursor: int
) -> tuple[State, str]:
    wrong = ""
    for offset, body in state.observed.placed:
        if log[offset : offset + 1] != (body,):
            wrong = f"{body}, confirmed at offset {offset}, is not there any more"
    if twice := [body for body in log if log.count(body) > 1]:
        wrong = f"{twice[0]} has two offsets"
    missing = [body for body in state.observed.pushed if END in log and body not in log]
    if missing:
        wrong = f"the log has ended without {missing[0]}, whose push was confirmed"
    for known in state.observed.states:
        wrong = wrong or _clash(known, (generation, version, log, cursor))
    states = tuple(sorted({*state.observed.states, (generation, version, log, cursor)}))
    return state._replace(observed=state.observed._replace(states=states)), wrong


def _clash(one: Seen, other: Seen) -> str:
    """What is wrong with two observed states: the later one must continue the earlier one."""
    (older, version, log, cursor), (newer, later, longer, further) = sorted((one, other), key=lambda state: state[1])
    if version == later:
        return "" if (log, cursor) == (longer, further) else f"two states were decided as version {version}"
    if older > newer:
        return f"version {version} was decided in a later generation than version {later}"
    if longer[: len(log)] != log:
        return f"decided entries {' '.join(log)} were lost or replaced: now {' '.join(longer) or 'none'}"
    if further < cursor:
        return f"the cursor fell from {cursor} to {further}"
    return ""


def _told(owner: Owner) -> str:
    log = " ".join(owner.log) or "no entries"
    return log + told(owner.cursor, owner.span)


def _pushes(world: World, state: State) -> Iterator[Step]:
    producer = state.pushes
    for generation in sorted({zone.data.generation for zone in state.zones}):
        push = Push(producer, f"m{producer + 1}", generation)
        text = f"producer {PRODUCERS[producer]} sends {push.body} to all zones{_in(generation)}"
        yield Step(text, sends(world, state._replace(pushes=producer + 1), push))


def _confirmed(world: World, state: State, producer: int) -> Iterator[Step]:
    who = len(state.owners) + producer
    body = f"m{producer + 1}"
    if body in state.observed.pushed or any(placed == body for _, placed in state.observed.placed):
        return
    for zones, (first, second) in heard(world, state, who):
        quiet = state._replace(zones=tuple(zone.forget(who) for zone in state.zones))
        text = f"producer {PRODUCERS[producer]} hears {zones}: {body} is confirmed"
        observed = quiet.observed
        if world.has(Mechanism.ONE_WRITER):
            pushed = tuple(sorted((*observed.pushed, body)))
            yield Step(text, quiet._replace(observed=observed._replace(pushed=pushed)))
        elif first.version == second.version:
            offset = first.version[1]
            placed = tuple(sorted((*observed.placed, (offset, body))))
            yield Step(f"{text} at offset {offset}", quiet._replace(observed=observed._replace(placed=placed)))
