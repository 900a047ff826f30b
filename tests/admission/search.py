"""Tries every interleaving, shortest first, and keeps the way to the first state in which something is wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from time import process_time

from admission import events, owners
from admission.joining import joining
from admission.mechanisms import World
from admission.progress import stands_still
from admission.resizing import resizing
from admission.state import State, Step, beginning, ordered
from admission.trimming import trimming


class TooManyStates(Exception):
    """The search was given up."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a search found; without ``wrong`` it has seen every state within the bounds."""

    states: int
    steps: int
    depth: int
    """How many steps the longest way had that was tried."""

    processor_s: float
    wrong: str
    trace: tuple[str, ...]
    choices: tuple[int, ...] = ()
    """Which of the steps that are possible is taken, at each place of the trace: ``replayed`` goes the same way."""


def steps(world: World, state: State) -> Iterator[Step]:
    yield from owners.actions(world, state)
    yield from events.arrivals(world, state)
    if world.bounds.reads:
        yield from events.looks(world, state)
    yield from events.losses(world, state)
    yield from events.admissions(world, state)
    yield from resizing(world, state)
    if world.bounds.trims:
        yield from trimming(world, state)
    if world.bounds.joins:
        yield from joining(world, state)


def search(world: World, *, states_max: int = 5_000_000) -> Result:
    """Raises ``TooManyStates`` if the bounds hold more states than ``states_max``."""
    begin_s = process_time()
    first = ordered(world, beginning(world))
    came_from: dict[State, State | None] = {first: None}
    edge, depth, tried = [first], 0, 0
    while edge:
        depth += 1
        beyond: list[State] = []
        for state in edge:
            for step in steps(world, state):
                tried += 1
                after = ordered(world, step.after)
                if after in came_from and not step.wrong:
                    continue
                came_from.setdefault(after, state)
                wrong = step.wrong or stands_still(world, tuple(zone.data for zone in after.zones), after.observed)
                if wrong:
                    path = [after, *_back(came_from, state)][::-1]
                    return Result(
                        states=len(came_from),
                        steps=tried,
                        depth=depth,
                        processor_s=process_time() - begin_s,
                        wrong=wrong,
                        trace=tuple(told(world, path)),
                        choices=tuple(_choices(world, path)),
                    )
                beyond.append(after)
            if len(came_from) > states_max:
                raise TooManyStates(f"more than {states_max:,} states, {depth} steps deep")
        edge = beyond
    return Result(
        states=len(came_from), steps=tried, depth=depth - 1, processor_s=process_time() - begin_s, wrong="", trace=()
    )


def _back(came_from: dict[State, State | None], state: State | None) -> Iterator[State]:
    while state is not None:
        yield state
        state = came_from[state]


def _choices(world: World, path: list[State]) -> Iterator[int]:
    for state, following in pairwise(path):
        after = [ordered(world, step.after) for step in steps(world, state)]
        yield after.index(following)


def replayed(world: World, choices: Sequence[int]) -> str:
    """Return what is wrong at the end of this way; empty if nothing is, or if ``world`` has no such way."""
    wrong = ""
    for step in _way(world, choices):
        if step is None:
            return ""
        after = ordered(world, step.after)
        wrong = step.wrong or stands_still(world, tuple(zone.data for zone in after.zones), after.observed)
    return wrong


def told_way(world: World, choices: Sequence[int]) -> list[str]:
    """The steps of a way that ``world`` has, in words."""
    states = [ordered(world, step.after) for step in _way(world, choices) if step is not None]
    return list(told(world, [ordered(world, beginning(world)), *states]))


def _way(world: World, choices: Sequence[int]) -> Iterator[Step | None]:
    """The step that each choice is; None, at last, where there is none of that number."""
    state = ordered(world, beginning(world))
    for choice in choices:
        step = next(islice(steps(world, state), choice, None), None)
        yield step
        if step is None:
            return
        state = ordered(world, step.after)


def told(world: World, path: list[State]) -> Iterator[str]:
    """The steps of a path in words. Zones are named here: the search itself does not tell them apart."""
    names = ["zone a", "zone b", "zone c"]
    for state, following in pairwise(path):
        step = next(step for step in steps(world, state) if ordered(world, step.after) == following)
        yield step.text.format(*names)
        order = sorted(range(3), key=lambda place: step.after.zones[place])
        names = [names[place] for place in order]
