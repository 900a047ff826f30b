"""Commands that wait for data, which Dynomite refuses: the port waits, and the zones see ordinary commands.

A blocking command on a shared connection would stop every other client, and on a connection of its own to one zone it
would take the element out of that zone only. So the port looks at the own zone at intervals that grow to
``POLL_MAX_S``, and when there is something it sends the command's form that does not wait to all zones, at the
client's level. Another client may have been faster; then it goes on waiting. Clients that wait are served in no
particular order, where a single server serves the one that waits longest.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cluster.commands.routes import Route
from cluster.resp.client import Client
from cluster.resp.commands.command_table import KINDS, CommandSpec
from cluster.resp.protocol import wire
from engine.ports import ServerError

POLL_MIN_S = 0.002
POLL_MAX_S = 0.05

_Attempt = Callable[[], Awaitable[bytes | None]]


@dataclass(frozen=True)
class _Form:
    """How a command that waits is written without waiting.

    ``named``: the reply is put behind the name of the key that it came from. ``timeout_at``: which argument is the
    time-out. ``many``: tried key by key, as the form without waiting takes one key.
    """

    name: bytes
    timeout_at: int = -1
    many: bool = False
    named: bool = False


_FORMS = {
    "BLPOP": _Form(b"LPOP", many=True, named=True),
    "BRPOP": _Form(b"RPOP", many=True, named=True),
    "BZPOPMIN": _Form(b"ZPOPMIN", many=True, named=True),
    "BZPOPMAX": _Form(b"ZPOPMAX", many=True, named=True),
    "BLMOVE": _Form(b"LMOVE"),
    "BRPOPLPUSH": _Form(b"RPOPLPUSH"),
    "BLMPOP": _Form(b"LMPOP", timeout_at=1),
    "BZMPOP": _Form(b"ZMPOP", timeout_at=1),
}


def wait_for(client: Client, spec: CommandSpec, arguments: list[bytes], raw: bytes) -> None:
    if spec.name in ("XREAD", "XREADGROUP"):
        _wait_for_stream(client, spec, arguments, raw)
        return
    form = _FORMS.get(spec.name)
    if form is None:
        client.error(f"ERR {spec.name} is not available through a coordinator: it would stop all other clients")
        return
    timeout_s = _number(arguments[form.timeout_at])
    if timeout_s is None:
        client.error("ERR timeout is not a float or out of range")
    elif timeout_s < 0:
        client.error("ERR timeout is negative")
    else:
        client.exclusively(lambda: _wait(client, timeout_s, _attempt(client, spec, form, arguments)))


def _attempt(client: Client, spec: CommandSpec, form: _Form, arguments: list[bytes]) -> _Attempt:
    if form.many:
        return lambda: _first_of(client, form, arguments[1:-1])
    rest = [*arguments[1:]]
    del rest[form.timeout_at - 1 if form.timeout_at > 0 else -1]
    packed = wire.command(form.name, *rest)
    keys = _sources(spec, rest)
    return lambda: _if_any(client, keys, packed)


def _sources(spec: CommandSpec, rest: list[bytes]) -> list[bytes]:
    """The keys from which the command takes; ``rest`` are its arguments without the time-out."""
    if spec.name in ("BLMPOP", "BZMPOP"):
        count = rest[0].decode("latin-1")
        return rest[1 : 1 + int(count)] if count.isdigit() else []
    return rest[:1]


async def _first_of(client: Client, form: _Form, keys: list[bytes]) -> bytes | None:
    for key in keys:
        reply = await _if_any(client, [key], wire.command(form.name, key))
        if reply is not None:
            return reply if reply[:1] == b"-" else _named(key, reply)
    return None


def _named(key: bytes, reply: bytes) -> bytes:
    if reply[:1] != b"*":
        return wire.array((wire.bulk(key), reply))
    head, _, items = reply.partition(b"\r\n")
    return b"*%d\r\n%b%b" % (int(head[1:]) + 1, wire.bulk(key), items)


async def _if_any(client: Client, keys: list[bytes], packed: bytes) -> bytes | None:
    """The reply to ``packed`` if one of ``keys`` exists in the own zone and the reply is not nil."""
    if keys:
        looked = await client.call(KINDS[Route.LOCAL_READ], wire.command(b"EXISTS", *keys))
        seen = wire.joined(looked)
        if seen == b":0\r\n":
            return None
        if seen[:1] == b"-":
            return seen
    reply = wire.joined(await client.call(KINDS[Route.WRITE], packed))
    return None if reply in _NOTHING else reply


_NOTHING = frozenset({*wire.NIL.values(), *wire.NIL_ARRAY.values(), b"*0\r\n", b"%0\r\n"})


async def _wait(client: Client, timeout_s: float, attempt: _Attempt) -> bytes:
    """Try until there is something; a time-out of 0 never ends."""
    now_s = client.loop.time
    deadline_s = now_s() + timeout_s if timeout_s else None
    pause_s = POLL_MIN_S
    while True:
        reply = await attempt()
        if reply is not None:
            return reply
        if deadline_s is not None:
            left_s = deadline_s - now_s()
            if left_s <= 0:
                return wire.NIL_ARRAY[client.protocol]
            pause_s = min(pause_s, left_s)
        await asyncio.sleep(pause_s)
        pause_s = min(POLL_MAX_S, 2 * pause_s)


def _wait_for_stream(client: Client, spec: CommandSpec, arguments: list[bytes], raw: bytes) -> None:
    upper = [argument.upper() for argument in arguments]
    until = upper.index(b"STREAMS") if b"STREAMS" in upper else len(upper)
    options = 4 if spec.name == "XREADGROUP" else 1  # behind GROUP, its name and the consumer's
    if b"BLOCK" not in upper[options:until]:
        client.submit(spec.kind, [raw])
        return
    at = upper.index(b"BLOCK", options)
    timeout_ms = _number(arguments[at + 1])
    if timeout_ms is None or timeout_ms < 0:
        client.error("ERR timeout is not an integer or out of range")
        return
    plain = arguments[:at] + arguments[at + 2 :]
    client.exclusively(lambda: _wait_on_stream(client, spec, plain, timeout_ms / 1000))


async def _wait_on_stream(client: Client, spec: CommandSpec, plain: list[bytes], timeout_s: float) -> bytes:
    packed = wire.command(*await _from_here_on(client, plain))

    async def attempt() -> bytes | None:
        reply = wire.joined(await client.call(spec.kind, packed))
        return None if reply in _NOTHING else reply

    return await _wait(client, timeout_s, attempt)


async def _from_here_on(client: Client, plain: list[bytes]) -> list[bytes]:
    """``$`` means the last entry when the waiting began, so it is looked up once."""
    if b"$" not in plain:
        return plain
    begin = [word.upper() for word in plain].index(b"STREAMS") + 1
    middle = begin + (len(plain) - begin) // 2
    identifiers = []
    for key, identifier in zip(plain[begin:middle], plain[middle:], strict=False):
        found = identifier
        if identifier == b"$":
            last = wire.command(b"XREVRANGE", key, b"+", b"-", b"COUNT", b"1")
            reply = wire.value(wire.joined(await client.call(KINDS[Route.LOCAL_READ], last, protocol=2)))
            found = reply[0][0] if reply and not isinstance(reply, ServerError) else b"0-0"
        identifiers.append(found)
    return plain[:middle] + identifiers


def _number(text: bytes) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number < 1e12 else None
