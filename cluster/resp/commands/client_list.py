"""``CLIENT LIST`` and ``CLIENT KILL``: commands that look at every client of the port.

A server does so at once. Here a thousand clients that all list each other would stand in everybody's way for minutes,
so with many clients one such command is carried out at a time, over several turns of the loop.
"""

import asyncio
import re
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from zonelab.cluster.resp.client import PortClient
from zonelab.cluster.resp.protocol import wire

TURN_CLIENTS = 64
"""Clients that are looked at in one turn; it takes a quarter of a millisecond."""

_INTEGER = re.compile(rb"0|-?[1-9]\d{0,18}")
_INTEGERS = range(-(1 << 63), 1 << 63)
_CLIENT_TYPES = frozenset({b"master", b"normal", b"primary", b"pubsub", b"replica", b"slave"})
_ID_WRONG = "ERR client-id should be greater than 0"

_Seen = TypeVar("_Seen")
_Filter = Callable[[PortClient], bool]


def integer_of(word: bytes) -> int | None:
    """The number of 64 bits that ``word`` is to a Valkey server; None if it is none."""
    if not _INTEGER.fullmatch(word):
        return None
    number = int(word)
    return number if number in _INTEGERS else None


def _integers_of(words: list[bytes]) -> list[int]:
    """The numbers with which ``words`` begin."""
    numbers: list[int] = []
    for word in words:
        number = integer_of(word)
        if number is None:
            break
        numbers.append(number)
    return numbers


def client_list(client: PortClient, arguments: list[bytes]) -> None:
    """All clients of this port, or those that the filters ``ID`` and ``TYPE`` leave."""
    filters: list[_Filter] = []
    at = 2
    while at < len(arguments):
        option, words = arguments[at].upper(), arguments[at + 1 :]
        if option == b"TYPE" and words:
            wanted = words[0].lower()
            if wanted not in _CLIENT_TYPES:
                client.error(f"ERR Unknown client type '{wire.shown(words[0])}'")
                return
            filters.append(partial(_is_of, wanted))
            at += 2
        elif option == b"ID" and (numbers := _integers_of(words)):
            if min(numbers) < 1:
                client.error(_ID_WRONG)
                return
            filters.append(partial(_is_among, frozenset(numbers)))
            at += 1 + len(numbers)
        else:
            client.error("ERR syntax error")
            return

    _look_at_all(
        client,
        lambda one: all(wanted(one) for wanted in filters),
        lambda one: described(one) + b"\n",
        lambda lines: client.reply(wire.verbatim(b"".join(lines), protocol=client.protocol)),
    )


def client_kill(client: PortClient, arguments: list[bytes]) -> None:
    """``CLIENT KILL ID n`` and ``CLIENT KILL address``."""
    by_identity = len(arguments) == 4 and arguments[2].upper() == b"ID"
    if by_identity:
        identity = integer_of(arguments[3])
        if identity is None or identity < 1:
            client.error("ERR syntax error" if identity is None else _ID_WRONG)
            return
        wanted = partial(_is_among, frozenset({identity}))
    elif len(arguments) == 3:
        wanted = partial(_is_at, arguments[2].decode("latin-1"))
    else:
        client.error("ERR syntax error; accepted here: CLIENT KILL addr:port, CLIENT KILL ID number")
        return

    def end(found: list[PortClient]) -> None:
        if by_identity:
            client.reply(wire.integer(len(found)))
        else:
            client.reply(wire.OK if found else wire.error("ERR No such client"))
        for one in found:
            one.close()

    _look_at_all(client, wanted, lambda one: one, end)


def _look_at_all(
    client: PortClient, wanted: _Filter, see: Callable[[PortClient], _Seen], tell: Callable[[list[_Seen]], None]
) -> None:
    """Call ``tell`` with what ``see`` gives for each client of the port that is ``wanted``."""
    host = client.host
    everybody = host.clients
    if len(everybody) <= TURN_CLIENTS:
        tell([see(one) for one in everybody if wanted(one)])
        return

    async def slowly() -> bytes:
        seen: list[_Seen] = []
        async with host.look_at_all:
            everybody = host.clients
            for begin in range(0, len(everybody), TURN_CLIENTS):
                some = everybody[begin : begin + TURN_CLIENTS]
                seen += [see(one) for one in some if not one.closing and wanted(one)]
                await asyncio.sleep(0)
        tell(seen)
        return b""

    client.exclusively(slowly, soon=True)


def _is_among(numbers: frozenset[int], client: PortClient) -> bool:
    return client.identity in numbers


def _is_of(wanted: bytes, client: PortClient) -> bool:
    listens = client.subscription is not None and client.subscription.count > 0
    return wanted == (b"pubsub" if listens else b"normal")


def _is_at(address: str, client: PortClient) -> bool:
    return _address(client, "peername") == address


def described(client: PortClient) -> bytes:
    """One line about a connection, as in ``CLIENT LIST``."""
    now_s = time.monotonic()
    library = client.library or {}
    subscription = client.subscription
    facts = {
        "id": client.identity,
        "addr": _address(client, "peername"),
        "laddr": _address(client, "sockname"),
        "fd": -1,
        "name": client.name.decode("utf-8", "replace"),
        "age": int(now_s - client.born_s),
        "idle": int(now_s - client.last_s),
        "flags": "P" if subscription is not None and subscription.count else "N",
        "db": 0,
        "sub": len(subscription.channels) if subscription is not None else 0,
        "psub": len(subscription.patterns) if subscription is not None else 0,
        "ssub": len(subscription.shards) if subscription is not None else 0,
        "multi": len(client.queued) if client.queued is not None else -1,
        "cmd": "NULL" if client.last_command is None else client.last_command.name.lower(),
        "user": "default",
        "redir": -1,
        "resp": client.protocol,
        "lib-name": library.get(b"lib-name", b"").decode("utf-8", "replace"),
        "lib-ver": library.get(b"lib-ver", b"").decode("utf-8", "replace"),
    }
    return " ".join(f"{key}={value}" for key, value in facts.items()).encode()


def _address(client: PortClient, end: str) -> str:
    name = client.transport.get_extra_info(end)
    return f"{name[0]}:{name[1]}" if name else "?:0"
