"""Commands that wait for data, which Dynomite refuses: the port waits, and the zones see ordinary commands.

A blocking command on a shared connection would stop every other client, and on a connection of its own to one zone it
would take the element out of that zone only. So the port looks at the own zone at intervals that grow to
``POLL_MAX_S``, and when there is something it sends the command's form that does not wait to all zones, at the
client's level. While the own zone shows nothing the level is looked at, too: a zone that missed writes would else hide
what the others have. That costs all zones something, so it is done rarely, once for all that wait on a key
(``zonelab.cluster.commands.level_looks``).

Another client may have been faster; then it goes on waiting. Clients that wait are served in no particular order, where
a single server serves the one that waits longest. The more clients wait, the longer are the intervals of each, so that
all of them together cost no more than ``LOOKS_PER_S``; and so are those of a long command.
"""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from zonelab.cluster.commands.routes import CommandRoute
from zonelab.cluster.resp.client import PortClient
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS, CommandDescription
from zonelab.engine.ports import ServerError

POLL_MIN_S = 0.002
POLL_MAX_S = 0.05
LOOKS_PER_S = 5_000
"""Looks of all clients of a port together, besides the first one of each: about a tenth of a core."""
LOOK_BYTES = 1024
"""Bytes of a command that count as another look, as does each further key: a look sends them to the server again."""
TOGETHER_S = 0.01
"""Many clients look at the same moments, so far apart, and their looks are one batch."""


TIMEOUT_S_MAX = 9.2e15
"""The servers' own limit: milliseconds since 1970 are numbers of 64 bits there."""

_Attempt = Callable[[], Awaitable[bytes | None]]


@dataclass(frozen=True)
class _NonBlockingForm:
    """Form of a waiting command without its wait.

    ``named``: the reply is put behind the name of the key that it came from. ``timeout_at``: which argument is the
    time-out. ``many``: tried key by key, as the form without waiting takes one key.
    """

    name: bytes
    timeout_at: int = -1
    many: bool = False
    named: bool = False


_FORMS = {
    "BLPOP": _NonBlockingForm(b"LPOP", many=True, named=True),
    "BRPOP": _NonBlockingForm(b"RPOP", many=True, named=True),
    "BZPOPMIN": _NonBlockingForm(b"ZPOPMIN", many=True, named=True),
    "BZPOPMAX": _NonBlockingForm(b"ZPOPMAX", many=True, named=True),
    "BLMOVE": _NonBlockingForm(b"LMOVE"),
    "BRPOPLPUSH": _NonBlockingForm(b"RPOPLPUSH"),
    "BLMPOP": _NonBlockingForm(b"LMPOP", timeout_at=1),
    "BZMPOP": _NonBlockingForm(b"ZMPOP", timeout_at=1),
}
_ENDS = {"BLMOVE": {b"LEFT", b"RIGHT"}, "BLMPOP": {b"LEFT", b"RIGHT"}, "BZMPOP": {b"MIN", b"MAX"}}
_NOT_IN_C = re.compile(rb"[_\s]")
_POSITIVE = re.compile(rb"[1-9]\d{0,17}")
_TIMEOUT_MS = re.compile(rb"0|[1-9]\d{0,17}")
_STREAM_OPTIONS = {b"BLOCK": 1, b"COUNT": 1, b"GROUP": 2, b"NOACK": 0}
"""Words that follow each option."""


def wait_for(client: PortClient, spec: CommandDescription, arguments: list[bytes], raw: bytes) -> None:
    if spec.name in ("XREAD", "XREADGROUP"):
        _wait_for_stream(client, spec, arguments)
        return
    form = _FORMS.get(spec.name)
    if form is None:
        client.error(f"ERR {spec.name} is not available through a coordinator: it would stop all other clients")
        return
    said = arguments.pop(form.timeout_at)
    keys = _sources(spec.name, arguments[1:])
    packed = wire.command(form.name, *arguments[1:])
    if not keys:
        client.submit(KINDS[CommandRoute.WRITE], [packed])  # the server says what is wrong with it
        return
    timeout_s = _number(said)
    if timeout_s is None:
        client.error("ERR timeout is not a float or out of range")
    elif timeout_s < 0:
        client.error("ERR timeout is negative")
    elif timeout_s > TIMEOUT_S_MAX:
        client.error("ERR timeout is out of range")
    else:
        attempt = partial(_first_of, client, form, keys) if form.many else partial(_if_any, client, keys, packed)
        looks = len(keys) + len(packed) // LOOK_BYTES
        client.exclusively(lambda: _wait(client, timeout_s, attempt, looks=looks, keys=keys))


def _sources(name: str, rest: list[bytes]) -> list[bytes]:
    """The keys from which a command takes, ``rest`` being its arguments without the time-out; none if they are wrong.

    The order in which Valkey 9.1.2 looks at them: all of these come before the time-out.
    """
    if name == "BLMOVE":
        return rest[:1] if {word.upper() for word in rest[2:]} <= _ENDS[name] else []
    if name in _ENDS:
        count = int(rest[0]) if _POSITIVE.fullmatch(rest[0]) else 0
        end, options = rest[1 + count : 2 + count], rest[2 + count :]
        right = count and end and end[0].upper() in _ENDS[name]
        counted = len(options) == 2 and options[0].upper() == b"COUNT" and _POSITIVE.fullmatch(options[1])
        return rest[1 : 1 + count] if right and (counted or not options) else []
    return rest if _FORMS[name].many else rest[:1]


async def _first_of(client: PortClient, form: _NonBlockingForm, keys: list[bytes]) -> bytes | None:
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


async def _if_any(client: PortClient, keys: list[bytes], packed: bytes) -> bytes | None:
    """The reply to ``packed`` if one of ``keys`` exists in the own zone or at the level and the reply is not nil."""
    seen = wire.joined(await client.call(KINDS[CommandRoute.LOCAL_READ], wire.command(b"EXISTS", *keys)))
    if seen[:1] == b"-":
        return seen
    level, looks = client.read_level, client.host.level_looks
    elsewhere = [(level, key) for key in keys if looks.seen((level, key))]
    if seen == b":0\r\n" and not elsewhere:
        return None
    reply = wire.joined(await client.call(KINDS[CommandRoute.WRITE], packed))
    if reply not in _NOTHING:
        return reply
    for key in elsewhere:
        looks.taken(key)
    return None


_NOTHING = frozenset({*wire.NIL.values(), *wire.NIL_ARRAY.values(), b"*0\r\n", b"%0\r\n"})


async def _wait(
    client: PortClient, timeout_s: float, attempt: _Attempt, *, looks: int, keys: Sequence[bytes] = ()
) -> bytes:
    """Try until there is something; a time-out of 0 never ends. ``looks``: as how many an attempt counts.

    ``keys``: where the level has to be looked at as well.
    """
    now_s = client.loop.time
    deadline_s = now_s() + timeout_s if timeout_s else None
    pause_s, host = POLL_MIN_S, client.host
    beyond = [] if client.read_level.rule.is_local else [(client.read_level, key) for key in keys]
    looked_at = False
    host.waiting += 1
    try:
        while (reply := await attempt()) is None:
            looked_at = looked_at or host.level_looks.wait(beyond)
            if (least_s := looks * host.waiting / LOOKS_PER_S) > TOGETHER_S:
                pause_s = max(pause_s, least_s) + -now_s() % TOGETHER_S
            if deadline_s is not None:
                left_s = deadline_s - now_s()
                if left_s <= 0:
                    return wire.NIL_ARRAY[client.protocol]
                pause_s = min(pause_s, left_s)
            await asyncio.sleep(pause_s)
            pause_s = min(POLL_MAX_S, 2 * pause_s)
        return reply
    finally:
        host.waiting -= 1
        if looked_at:
            host.level_looks.leave(beyond)


def _wait_for_stream(client: PortClient, spec: CommandDescription, arguments: list[bytes]) -> None:
    """Send the command without ``BLOCK``, again and again if it has a time-out that is right.

    What is wrong with it the server says: it gets the words up to the wrong one, and without streams it waits for none.
    ``COUNT -1`` changes nothing and makes every form long enough for the server to look at it.
    """
    plain, at, timeout_ms = [arguments[0], *(b"COUNT", b"-1") * 3], 1, None
    while at < len(arguments) and (option := arguments[at].upper()) != b"STREAMS":
        words = arguments[at : at + 1 + _STREAM_OPTIONS.get(option, 0)]
        at += len(words)
        if option == b"BLOCK" and len(words) == 2 and _TIMEOUT_MS.fullmatch(words[1]):
            timeout_ms = int(words[1])
            continue
        plain += words
        if option not in _STREAM_OPTIONS or option == b"BLOCK":
            at = len(arguments)
    plain += arguments[at:]
    if timeout_ms is None or (len(arguments) - at) % 2 == 0:
        client.submit(spec.kind, [wire.command(*plain)])
    else:
        client.exclusively(lambda: _wait_on_stream(client, spec, plain, timeout_ms / 1000))


async def _wait_on_stream(client: PortClient, spec: CommandDescription, plain: list[bytes], timeout_s: float) -> bytes:
    packed = wire.command(*await _from_here_on(client, plain))

    async def attempt() -> bytes | None:
        reply = wire.joined(await client.call(spec.kind, packed))
        return None if reply in _NOTHING else reply

    return await _wait(client, timeout_s, attempt, looks=1 + len(packed) // LOOK_BYTES)


async def _from_here_on(client: PortClient, plain: list[bytes]) -> list[bytes]:
    """The same with the last entry when the waiting began in place of ``$``."""
    if b"$" not in plain:
        return plain
    begin = [word.upper() for word in plain].index(b"STREAMS") + 1
    middle = begin + (len(plain) - begin) // 2
    identifiers = []
    for key, identifier in zip(plain[begin:middle], plain[middle:], strict=False):
        identifiers.append(await _last_of(client, key) if identifier == b"$" else identifier)
    return plain[:middle] + identifiers


async def _last_of(client: PortClient, key: bytes) -> bytes:
    """The last entry of the own zone or of the level, whichever is later: the own zone may have missed some."""
    last = wire.command(b"XREVRANGE", key, b"+", b"-", b"COUNT", b"1")
    found = [b"0-0"]
    for route in (
        (CommandRoute.LOCAL_READ,) if client.read_level.rule.is_local else (CommandRoute.LOCAL_READ, CommandRoute.READ)
    ):
        reply = wire.value(wire.joined(await client.call(KINDS[route], last, protocol=2)))
        if reply and not isinstance(reply, ServerError):
            found.append(reply[0][0])
    return max(found, key=lambda identifier: [int(part) for part in identifier.split(b"-")])


def _number(text: bytes) -> float | None:
    """A number as C reads it: with hexadecimal digits and infinities, and without Python's underscores and spaces."""
    if _NOT_IN_C.search(text):
        return None
    try:
        number = float.fromhex(text.decode("latin-1")) if b"x" in text.lower() else float(text)
    except OverflowError:
        return math.inf
    except ValueError:
        return None
    return None if math.isnan(number) else number
