"""Blocking commands of a port's clients: the port waits (``zonelab.cluster.client.waiting``)."""

from functools import partial

from zonelab.cluster.client.waiting import LOOK_BYTES
from zonelab.cluster.commands.routes import CommandRoute
from zonelab.cluster.commands.waiting_forms import (
    STREAM_NAMES,
    Attempt,
    Misstated,
    Waiting,
    last_entries_wanted,
    last_entry,
    latest,
    stream_form,
    stream_keys,
    waiting_form,
)
from zonelab.cluster.resp.client import PortClient
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS, CommandDescription
from zonelab.engine.ports import ServerError


def wait_for(client: PortClient, spec: CommandDescription, arguments: list[bytes], raw: bytes) -> None:
    if spec.name in STREAM_NAMES:
        _wait_for_stream(client, spec, arguments)
        return
    form = waiting_form(spec.name, arguments)
    if form is None:
        client.error(f"ERR {spec.name} is not available through a coordinator: it would stop all other clients")
    elif isinstance(form, Misstated):
        if form.error:
            client.error(form.error)
        else:
            client.submit(KINDS[CommandRoute.WRITE], [wire.command(*form.words)])
    else:
        client.exclusively(lambda: _wait(client, form))


class _PortLooker:
    """``Looker`` of one client of a port."""

    def __init__(self, client: PortClient) -> None:
        self._client = client
        self._packed: dict[tuple[bytes, ...], bytes] = {}

    async def look(self, keys: tuple[bytes, ...]) -> bytes | bool:
        packed = self._packed.get(keys)
        if packed is None:
            packed = wire.command(b"EXISTS", *keys)
            if len(packed) <= LOOK_BYTES:
                self._packed[keys] = packed
        seen = wire.joined(await self._client.call(KINDS[CommandRoute.LOCAL_READ], packed))
        return seen if seen[:1] == b"-" else seen != b":0\r\n"

    async def take(self, attempt: Attempt) -> bytes | None:
        reply = wire.joined(await self._client.call(KINDS[CommandRoute.WRITE], wire.command(*attempt.words)))
        if reply in _NOTHING:
            return None
        return reply if attempt.named is None or reply[:1] == b"-" else _named(attempt.named, reply)


def _named(key: bytes, reply: bytes) -> bytes:
    if reply[:1] != b"*":
        return wire.array((wire.bulk(key), reply))
    header, _, elements = reply.partition(b"\r\n")
    return b"*%d\r\n" % (int(header[1:]) + 1) + wire.bulk(key) + elements


_NOTHING = frozenset({*wire.NIL.values(), *wire.NIL_ARRAY.values(), b"*0\r\n", b"%0\r\n"})


async def _wait(client: PortClient, form: Waiting) -> bytes:
    level, room = client.read_level, client.host.room
    attempt = partial(room.first_of, _PortLooker(client), form.attempts, level=level)
    looks = len(form.keys) + max(len(wire.command(*one.words)) for one in form.attempts) // LOOK_BYTES
    reply = await room.wait(attempt, form.timeout_s, looks=looks, keys=form.keys, level=level)
    return wire.NIL_ARRAY[client.protocol] if reply is None else reply


def _wait_for_stream(client: PortClient, spec: CommandDescription, arguments: list[bytes]) -> None:
    form = stream_form(arguments)
    timeout_s = form.timeout_s
    if timeout_s is None:
        client.submit(spec.kind, [wire.command(*form.words)])
    else:
        client.exclusively(lambda: _wait_on_stream(client, spec, form.words, timeout_s))


async def _wait_on_stream(
    client: PortClient, spec: CommandDescription, words: tuple[bytes, ...], timeout_s: float
) -> bytes:
    begun = list(words)
    for place, key in last_entries_wanted(words).items():
        begun[place] = await _last_of(client, key)
    packed = wire.command(*begun)

    async def attempt() -> bytes | None:
        reply = wire.joined(await client.call(spec.kind, packed))
        return None if reply in _NOTHING else reply

    looks = 1 + len(packed) // LOOK_BYTES
    reply = await client.host.room.wait(attempt, timeout_s, looks=looks, keys=stream_keys(words))
    return wire.NIL_ARRAY[client.protocol] if reply is None else reply


async def _last_of(client: PortClient, key: bytes) -> bytes:
    """The last entry of the own zone or of the level, whichever is later: the own zone may have missed some."""
    last = wire.command(*last_entry(key))
    found = []
    for route in (
        (CommandRoute.LOCAL_READ,) if client.read_level.rule.is_local else (CommandRoute.LOCAL_READ, CommandRoute.READ)
    ):
        reply = wire.value(wire.joined(await client.call(KINDS[route], last, protocol=2)))
        if reply and not isinstance(reply, ServerError):
            found.append(reply[0][0])
    return latest(found)
