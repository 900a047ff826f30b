"""Transactions of a port's clients (``zonelab.cluster.client.transactions``), in the bytes that they sent."""

from collections.abc import Callable, Sequence

from zonelab.cluster.client.transactions import (
    ABORTED,
    QUEUE_MAX,
    WatchedKeys,
    answered_everywhere,
    watched_everywhere,
)
from zonelab.cluster.commands.routes import CommandRoute
from zonelab.cluster.connections.batch import Batch, Channel
from zonelab.cluster.resp.client import PortClient
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS, CommandDescription, CommandKind, Treatment
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.cluster.resp.wire_ring import WireRing
from zonelab.cluster.zone import ClusterError
from zonelab.engine.ports import Promise, Reply

_MULTI, _EXEC, _PING = map(wire.command, (b"MULTI", b"EXEC", b"PING"))


def queue(client: PortClient, spec: CommandDescription, raw: bytes) -> None:
    """After MULTI: keep ``raw`` for EXEC."""
    assert client.queued is not None
    if spec.treatment in (Treatment.PORT, Treatment.SUBSCRIPTION):
        client.queue_failed = True
        client.error(f"ERR {spec.name.replace('|', ' ')} is not available inside MULTI here")
    elif (
        len(client.queued) >= QUEUE_MAX or client.queued_bytes + len(raw) > client.host.settings.commands.command_bytes
    ):
        client.queue_failed = True
        client.error("ERR the transaction is too large")
    else:
        client.queued.append((raw, spec.kind))
        client.queued_bytes += len(raw)
        client.reply(wire.QUEUED)


def multi(client: PortClient, raw: bytes) -> None:
    client.queued, client.queue_failed, client.queued_bytes = [], False, 0
    client.settle()
    client.reply(wire.OK)


def discard(client: PortClient, raw: bytes) -> None:
    if client.queued is None:
        client.error("ERR DISCARD without MULTI")
        return
    leave(client)
    client.reply(wire.OK)


def leave(client: PortClient) -> None:
    """Forget the queue and the watched keys."""
    client.queued = None
    client.settle()
    client.forget_watch()


def execute(client: PortClient, raw: bytes) -> None:
    queued = client.queued
    if queued is None:
        client.error("ERR EXEC without MULTI")
    elif client.queue_failed:
        leave(client)
        client.error(ABORTED)
    elif client.watching is not None:
        client.exclusively(lambda: _execute_watched(client, queued), soon=True)
    else:
        leave(client)
        if queued:
            kind = _kind(queued)
            client.submit_as(kind, WireCommands([kind.example], **_marks(client, queued)), _packed(queued))
        else:
            client.reply(wire.array(()))


def watch(client: PortClient, raw: bytes) -> None:
    async def begin() -> bytes:
        if (wrong := _wrong_place(client, raw, 1)) is not None:
            return wire.error(f"ERR {wrong}")
        if client.watching is None:
            try:
                client.watching = WatchedKeys(await client.host.lease(raw))
            except ClusterError as refused:
                return wire.error(f"ERR {refused}")
        await _written_everywhere(client, client.watching)
        return wire.answer(await _watched_everywhere(client, client.watching, raw))

    client.exclusively(begin, soon=True)


def unwatch(client: PortClient, raw: bytes) -> None:
    if client.queued is not None:
        queue(client, client.host.table["UNWATCH"], raw)
        return
    client.forget_watch()
    client.reply(wire.OK)


async def _written_everywhere(client: PortClient, watching: WatchedKeys) -> None:
    """Wait until what the client has written by another way has arrived where it watches keys."""
    if client.has_written:
        shared = dict(zip(client.coordinator.zones, client.coordinator.channels, strict=True))
        await _answered_everywhere(client, [shared[zone] for zone in watching.coordinator.zones])


def _answered_everywhere(client: PortClient, channels: Sequence[Channel]) -> Promise[None]:
    """Done when all that ``client`` has sent on ``channels`` so far is answered, or failed."""
    client.has_written = len(channels) < len(client.coordinator.zones)  # others may still be behind
    commands = WireCommands([("PING",)], protocol=client.protocol)
    batch = Batch(commands, writes=True, packed=_PING)  # with the time-out of what it comes behind
    return answered_everywhere(client.loop.create_future, channels, batch)


async def _watched_everywhere(client: PortClient, watching: WatchedKeys, raw: bytes) -> Reply:
    watching.number += 1
    commands = WireCommands([("WATCH",)], protocol=client.protocol, watches=watching.mark)
    batch = Batch(commands, writes=False, packed=raw)
    channels = watching.coordinator.channels
    return await watched_everywhere(client.loop.create_future, channels, batch, level=client.write_level)


async def _execute_watched(client: PortClient, queued: list[tuple[bytes, CommandKind]]) -> bytes:
    watching = client.watching
    assert watching is not None
    try:
        kind = _kind(queued)
        marks = _marks(client, queued)
        packed = _packed(queued)
        if (wrong := _wrong_place(client, packed, len(queued) + 2)) is not None:
            return wire.error(f"EXECABORT Transaction discarded: {wrong}")
        await _written_everywhere(client, watching)
        executed = client.call(kind, packed, through=watching.coordinator, watched=watching.mark, **marks)
        everywhere = _answered_everywhere(client, watching.coordinator.channels)
        answer = wire.joined(await executed)
        ring = client.host.coordinator
        if isinstance(ring, WireRing) and answer != wire.NIL_ARRAY[client.protocol]:
            ring.pass_transaction_on(WireCommands([kind.example], **marks), packed)
        client.write(answer)
        await client.in_order(everywhere)
        return b""
    finally:
        leave(client)


def _wrong_place(client: PortClient, packed: bytes, count: int) -> str | None:
    """Why the keys of these commands cannot be watched, or be changed together with those that are."""
    ring = client.host.coordinator
    if not isinstance(ring, WireRing):
        return None
    if ring.agrees_with_others(client.write_level):
        return f"WATCH is not available at {client.write_level} with several data centres"
    owners, watching = ring.together(packed, count), client.watching
    watched = () if watching is None else watching.coordinator.zones
    if owners is None or (owners and watched and set(owners) != set(watched)):
        return "watched keys and those of their transaction have to be on one node; a hash tag keeps keys together"
    return None


def _kind(queued: list[tuple[bytes, CommandKind]]) -> CommandKind:
    return KINDS[CommandRoute.READ] if all(kind.reads for _, kind in queued) else KINDS[CommandRoute.WRITE]


def _marks(client: PortClient, queued: list[tuple[bytes, CommandKind]]) -> dict[str, int]:
    return {"protocol": client.protocol, "replies": len(queued) + 2}


def _packed(queued: list[tuple[bytes, CommandKind]]) -> bytes:
    return b"".join([_MULTI, *(raw for raw, _ in queued), _EXEC])


TRANSACTION_COMMANDS: dict[str, Callable[[PortClient, bytes], None]] = {
    "DISCARD": discard,
    "EXEC": execute,
    "MULTI": multi,
    "UNWATCH": unwatch,
    "WATCH": watch,
}
