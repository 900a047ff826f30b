"""MULTI, EXEC, DISCARD, WATCH, UNWATCH: beyond Dynomite, which refuses them.

Commands are queued at the port. EXEC sends all of them, between MULTI and EXEC, as one piece: each zone executes them
without another command in between, and the coordinator votes on the replies as a whole. Zones are not isolated from
each other, so two transactions that meet may be executed in different orders in different zones.

WATCH needs connections of the client's own, because a server remembers watched keys per connection; it is answered when
every zone has answered. Each zone decides by itself whether a watched key has changed, and the level decides about
their answers as about any others. On its way to a zone a watched EXEC may overtake other clients' commands, or be
overtaken, so a zone in the minority may do otherwise and differ afterwards, as after writes through two coordinators.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from cluster.commands.routes import Route
from cluster.connections.batch import Answer, Batch
from cluster.coordinator import Coordinator
from cluster.resp.commands.command_table import KINDS, CommandSpec, Kind, Treatment
from cluster.resp.gateway.token_ring import WireRing
from cluster.resp.protocol import wire
from cluster.resp.protocol.upstream import WireCommands
from cluster.votes.vote import Vote
from engine.ports import Reply

if TYPE_CHECKING:
    from cluster.resp.session import Session

_MULTI, _EXEC, _UNWATCH = map(wire.command, (b"MULTI", b"EXEC", b"UNWATCH"))
ABORTED = "EXECABORT Transaction discarded because of previous errors."
QUEUE_MAX = 100_000
"""Commands in one transaction."""


class Watching:
    """A client's watched keys: the connections on which they are watched, and how many WATCH it has sent."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        self.lease = next(_leases)
        self.number = 0

    @property
    def mark(self) -> tuple[int, int]:
        return self.lease, self.number


_leases = count(1)


def queue(session: "Session", spec: CommandSpec, raw: bytes) -> None:
    """After MULTI: keep ``raw`` for EXEC."""
    assert session.queued is not None
    if spec.treatment in (Treatment.PORT, Treatment.SUBSCRIPTION):
        session.queue_failed = True
        session.error(f"ERR {spec.name.replace('|', ' ')} is not available inside MULTI here")
    elif (
        len(session.queued) >= QUEUE_MAX
        or session.queued_bytes + len(raw) > session.server.settings.commands.command_bytes
    ):
        session.queue_failed = True
        session.error("ERR the transaction is too large")
    else:
        session.queued.append((raw, spec.kind))
        session.queued_bytes += len(raw)
        session.reply(wire.QUEUED)


def multi(session: "Session", raw: bytes) -> None:
    if session.queued is not None:
        session.error("ERR MULTI calls can not be nested")
        return
    session.queued, session.queue_failed, session.queued_bytes = [], False, 0
    session.settle()
    session.reply(wire.OK)


def discard(session: "Session", raw: bytes) -> None:
    if session.queued is None:
        session.error("ERR DISCARD without MULTI")
        return
    leave(session)
    session.reply(wire.OK)


def leave(session: "Session") -> None:
    """Forget the queue and the watched keys."""
    session.queued = None
    session.settle()
    session.forget_watch()


def execute(session: "Session", raw: bytes) -> None:
    queued = session.queued
    if queued is None:
        session.error("ERR EXEC without MULTI")
    elif session.queue_failed:
        leave(session)
        session.error(ABORTED)
    elif session.watching is not None:
        session.exclusively(lambda: _execute_watched(session, queued))
    else:
        leave(session)
        if queued:
            kind = _kind(queued)
            session.submit_as(kind, WireCommands([kind.example], **_marks(session, queued)), _packed(queued))
        else:
            session.reply(wire.array(()))


def watch(session: "Session", raw: bytes) -> None:
    if session.queued is not None:
        session.error("ERR WATCH inside MULTI is not allowed")
        return

    async def begin() -> bytes:
        if (wrong := _wrong_place(session, raw, 1)) is not None:
            return wire.error(f"ERR {wrong}")
        if session.watching is None:
            session.watching = Watching(await session.server.lease(raw))
        return wire.answer(await _watched_everywhere(session, session.watching, raw))

    session.exclusively(begin)


def unwatch(session: "Session", raw: bytes) -> None:
    if session.queued is not None:
        queue(session, session.server.table["UNWATCH"], raw)
        return
    session.forget_watch()
    session.reply(wire.OK)


async def _watched_everywhere(session: "Session", watching: "Watching", raw: bytes) -> Reply:
    """Watch in every zone, and wait for the last one: a zone that began late would miss what happens until then."""
    watching.number += 1
    channels = watching.coordinator.channels
    vote = Vote(session.write_level, zones=len(channels))
    complete: asyncio.Future[None] = session.loop.create_future()

    def answered(position: int, answer: Answer) -> None:
        vote.submit(position, answer[0] if isinstance(answer, list) else answer)
        if vote.complete and not complete.done():
            complete.set_result(None)

    commands = WireCommands([("WATCH",)], protocol=session.protocol, watches=watching.mark)
    batch = Batch(commands, writes=False, packed=raw)
    for position, channel in enumerate(channels):
        channel.submit(batch, partial(answered, position))
    await complete
    return vote.answer


async def _execute_watched(session: "Session", queued: list[tuple[bytes, Kind]]) -> bytes:
    watching = session.watching
    assert watching is not None
    try:
        kind = _kind(queued)
        marks = _marks(session, queued)
        packed = _packed(queued)
        if (wrong := _wrong_place(session, packed, len(queued) + 2)) is not None:
            return wire.error(f"EXECABORT Transaction discarded: {wrong}")
        outcome = await session.call(kind, packed, through=watching.coordinator, watched=watching.mark, **marks)
        answer = wire.joined(outcome)
        ring = session.server.coordinator
        if isinstance(ring, WireRing) and answer != wire.NIL_ARRAY[session.protocol]:
            ring.pass_transaction_on(WireCommands([kind.example], **marks), packed)
        return answer
    finally:
        leave(session)


def _wrong_place(session: "Session", packed: bytes, count: int) -> str | None:
    """Why the keys of these commands cannot be watched, or be changed together with those that are."""
    ring = session.server.coordinator
    if not isinstance(ring, WireRing):
        return None
    if ring.agrees_with_others(session.write_level):
        return f"WATCH is not available at {session.write_level} with several data centres"
    owners, watching = ring.together(packed, count), session.watching
    watched = () if watching is None else watching.coordinator.zones
    if owners is None or (owners and watched and set(owners) != set(watched)):
        return "watched keys and those of their transaction have to be on one node; a hash tag keeps keys together"
    return None


def _bytes_max(session: "Session") -> int:
    return session.server.settings.commands.command_bytes


def _kind(queued: list[tuple[bytes, Kind]]) -> Kind:
    return KINDS[Route.READ] if all(kind.reads for _, kind in queued) else KINDS[Route.WRITE]


def _marks(session: "Session", queued: list[tuple[bytes, Kind]]) -> dict[str, int]:
    return {"protocol": session.protocol, "replies": len(queued) + 2}


def _packed(queued: list[tuple[bytes, Kind]]) -> bytes:
    return b"".join([_MULTI, *(raw for raw, _ in queued), _EXEC])


TRANSACTION_COMMANDS: dict[str, Callable[["Session", bytes], None]] = {
    "DISCARD": discard,
    "EXEC": execute,
    "MULTI": multi,
    "UNWATCH": unwatch,
    "WATCH": watch,
}
