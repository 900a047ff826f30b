"""Whether a partition can go on: what no later step could mend is found in the state where it begins."""

from functools import cache
from itertools import combinations

from admission.events import fresh
from admission.mechanisms import Mechanism, World
from admission.state import Observed
from admission.unread import trimmed_too_far
from admission.zone import END, Data, Grant, Write, carry_out, given, merged


def stands_still(world: World, zones: tuple[Data, ...], observed: Observed) -> str:
    """What is wrong if two zones are in office, no more faults come, and yet a fresh owner cannot write.

    Nothing is on its way any more, and the third zone is silent, whatever it holds.
    """
    for now in (zones, mended(world, zones)):
        for pair in combinations(sorted(data for data in now if data.admitted), 2):
            wrong = _pair_stands_still(world, pair, observed.pushed)
            if not wrong and world.bounds.entries:
                wrong = trimmed_too_far(pair, observed.joined)
            if wrong:
                return wrong
    return ""


@cache
def _pair_stands_still(world: World, pair: tuple[Data, Data], pushed: tuple[str, ...]) -> str:
    one, other = pair
    if world.has(Mechanism.GENERATION) and one.generation != other.generation:
        return ""
    newest = max(pair, key=lambda data: data.version)
    found = newest.log if END in newest.log else one.inbox + other.inbox + newest.log
    lost = [body for body in pushed if body not in found]
    if lost:
        return f"two zones that may decide hold nothing of {lost[0]}, whose push was confirmed"
    token = (max(one.promised, other.promised) // 100 + 1) * 100
    granted = [_after(world, data, Grant(0, token, one.generation)) for data in pair]
    write = Write(0, (token, 0), one.generation, newest.log, newest.cursor, (), newest.version)
    if any(_after(world, data, write).version != write.version for data in granted):
        return "a zone refuses every write, and with one more silent no write is decided: the partition stands still"
    return ""


def _after(world: World, data: Data, message: Grant | Write) -> Data:
    outcome = carry_out(world, data, message)
    return data if outcome is None else outcome[0]


def mended(world: World, zones: tuple[Data, ...]) -> tuple[Data, ...]:
    """The zones after one admission that nothing disturbs, if two are in office."""
    inside = [data for data in zones if data.admitted]
    if len(inside) < 2:
        return zones
    generation = fresh(world, max(data.generation for data in inside), 0)
    raised = [data._replace(generation=generation) for data in inside]
    return (*raised, given(world, merged(raised[0], raised[1]))) if len(inside) == 2 else tuple(raised)
