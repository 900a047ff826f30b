"""A resize: zones take the seal, an owner ends the log, and a reader opens the partition that follows.

A zone takes the seal at any time, since whoever resizes sends it again in every generation, and then takes no push.
What becomes of a push that zones refused is read in the log when that has ended; here that log only has to stay.
"""

from collections.abc import Iterator

from admission.mechanisms import Mechanism, World
from admission.owners import heard, observe
from admission.state import OWNERS, Owner, State, Step, with_owner, with_zone
from admission.zone import END, Answer, Data


def resizing(world: World, state: State) -> Iterator[Step]:
    if world.bounds.resize:
        yield from _seals(state)
        yield from _drains(world, state)
        yield from _opens(world, state)


def _seals(state: State) -> Iterator[Step]:
    for place, zone in enumerate(state.zones):
        if zone.data.admitted and not zone.data.sealed and state.zones.index(zone) == place:
            sealed = zone._replace(data=zone.data._replace(sealed=True))
            yield Step(f"{{{place}}} takes the seal", with_zone(state, place, sealed))


def _drains(world: World, state: State) -> Iterator[Step]:
    """An owner reads a zone: the seal first, then the inbox. Two reads count together if they are of one generation."""
    for who, owner in enumerate(state.owners):
        if not owner.waiting or owner.writes == 0 or END in owner.log:
            continue
        for place, zone in enumerate(state.zones):
            again = zone.looked >> who & 1 and owner.looked == zone.data.generation + 1
            if again or not _drained(world, zone.data, owner):
                continue
            found = "sealed, and nothing more" if zone.data.sealed else "nothing more"
            began = owner.looked == zone.data.generation + 1
            fresh = state if began else state._replace(zones=tuple(each.look_away(who) for each in state.zones))
            after = with_zone(fresh, place, fresh.zones[place]._replace(looked=fresh.zones[place].looked | 1 << who))
            after = with_owner(after, who, owner._replace(looked=zone.data.generation + 1))
            yield Step(f"owner {OWNERS[who]} reads {{{place}}}: {found}", after)


def _drained(world: World, data: Data, owner: Owner) -> bool:
    return (
        data.admitted
        and (data.sealed or not world.has(Mechanism.SEALED_PAIR))
        and all(body in owner.log for body in data.inbox)
    )


def _opens(world: World, state: State) -> Iterator[Step]:
    """A group begins with the partition that follows when two zones show alike that it is at the end."""
    if state.observed.opened:
        return
    reader = len(state.owners) + world.bounds.producers
    for place, zone in enumerate(state.zones):
        data = zone.data
        answer = Answer(data.generation, data.version, data.log, data.cursor)
        if data.admitted and data.log[data.cursor : data.cursor + 1] == (END,) and answer not in zone.answers[reader]:
            after = with_zone(state, place, zone.tell(reader, answer))
            yield Step(f"{{{place}}} shows that the group is at the end", after)
    if world.has(Mechanism.BARRIER):
        pairs = ((zones, both[0]) for zones, both in heard(world, state, reader) if both[0].version == both[1].version)
    else:
        pairs = ((f"{{{place}}}", one) for place, zone in enumerate(state.zones) for one in zone.answers[reader])
    for zones, shown in pairs:
        quiet = state._replace(zones=tuple(zone.forget(reader) for zone in state.zones))
        after, wrong = observe(quiet, shown.generation, shown.version, shown.log, shown.cursor)
        opened = after._replace(observed=after.observed._replace(opened=True))
        yield Step(f"the partition that follows is opened, as {zones} showed", opened, wrong)
