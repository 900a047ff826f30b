"""What an owner's write carries: the whole state, and of the records those that zones may lack."""

from admission.mechanisms import Mechanism, World
from admission.records import between
from admission.state import Owner, State, sends, with_owner
from admission.zone import Log, Write


def writes(
    world: World, state: State, place: int, owner: Owner, *, decided: Log = (), follows: tuple[int, int] | None = None
) -> State:
    """``owner``: as it will be. ``follows``: the version that it took over, and writes back."""
    before = state.owners[place]
    brings = 0
    if world.bounds.entries:
        again = follows is not None or owner.missing < before.missing
        since = before.span.since if again else len(before.log)
        brings = _brought(world, owner, between(since, len(owner.log)) | (before.missing & ~owner.missing))
        owner = owner._replace(span=owner.span._replace(since=since))
    write = Write(
        owner=place,
        version=(owner.token, owner.writes),
        generation=owner.generation,
        log=owner.log,
        cursor=owner.cursor,
        leaves=decided if world.has(Mechanism.LEAVES_LATER) else owner.log,
        before=follows or (owner.token, owner.writes - 1),
        span=owner.span,
        records=brings,
        behind=before.span.first,
    )
    sent = owner._replace(writes=owner.writes + 1, waiting=True, looking=0)
    return sends(world, with_owner(state, place, sent), write)


def _brought(world: World, owner: Owner, records: int) -> int:
    """Of ``records`` none that was trimmed since it was seen that a zone lacks it."""
    return records & ~between(0, owner.span.first) if world.has(Mechanism.REPAIR_FROM_FIRST) else records
