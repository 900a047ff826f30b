"""Compare the zones of a cluster key by key, read from their servers past the coordinators.

Keys are compared by type and members; hashes, sets and sorted sets have no order, so ``DUMP`` of equal ones may differ.
Times to live are compared apart, as they are counted from when each server got the command.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from zonelab.cluster.real.zones.admin import admin_client
from zonelab.cluster.zone import Address

KEYS_MAX = 20_000
"""Keys of one group of servers that are compared: those first that some server lacks."""

_LISTED_MAX = 10 * KEYS_MAX
"""Names of keys that are read from one server, to see which are missing elsewhere."""

WITHIN_S = 10.0
"""Bound of one comparison."""

ELEMENTS_MAX = 10_000
BYTES_MAX = 100_000
"""Only the length of a longer key, or of a longer string, is compared where the server has no digest of it."""

TTL_MS = 1_000
"""Times to live that are further apart differ."""

AGAIN_MAX = 2
AGAIN_KEYS_MAX = 1_000
"""Keys that differ and are looked at again, ``AGAIN_MAX`` times: clients may have written them between two reads."""

_AGAIN_S = 0.1

KEYS_SHOWN = 5
_BATCH = 200
_READ_S = 5.0

Progress = Callable[[int], None]
"""Called with the number of keys that have been compared."""


@dataclass(frozen=True, slots=True)
class _KeyCopy:
    """A key as one server has it: ``elements`` is 0 and ``digest`` empty where it is not there."""

    elements: int
    digest: str
    ttl_ms: int
    by_length: bool = False


_ABSENT = _KeyCopy(elements=0, digest="", ttl_ms=-2)

_HeldByKey = dict[bytes, dict[str, _KeyCopy]]
"""By key and zone."""


@dataclass(kw_only=True)
class KeyComparison:
    """``differing``: by key, how many elements each zone has. ``unread``: by zone, why it could not be compared.

    ``changing``: of those that differ, the ones that were otherwise at each look.
    """

    compared: int = 0
    differing: dict[str, dict[str, int]] = field(default_factory=dict)
    changing: list[str] = field(default_factory=list)
    ttls: list[str] = field(default_factory=list)
    lengths_only: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    complete: bool = True

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "sentences": list(self.sentences())}

    def sentences(self) -> Iterator[str]:
        """The findings for people, the number of keys first."""
        part = "" if self.complete else f" of the first {self.compared:,}, as more would take too long"
        if self.differing:
            shown = [f"`{key}` {_counts(held)}" for key, held in list(self.differing.items())[:KEYS_SHOWN]]
            more = [f"and {len(self.differing) - len(shown):,} more"] if len(self.differing) > len(shown) else []
            yield f"{_keys(len(self.differing))}{part} {_differ(len(self.differing))}: {'; '.join((*shown, *more))}"
        elif not self.compared and (self.unread or not self.complete):
            yield "no keys were compared between the zones"
        else:
            yield f"no key differs between the zones, {_keys(self.compared)} compared{part}"
        if self.changing:
            number = len(self.changing)
            yield f"{number:,} of these changed from look to look, as clients write it: {_shown(self.changing)}"
        if self.ttls:
            number = len(self.ttls)
            yield f"{_keys(number)} {_differ(number)} in the time to live alone: {_shown(self.ttls)}"
        if self.lengths_only:
            number, was = len(self.lengths_only), "was" if len(self.lengths_only) == 1 else "were"
            why = "as a server does not report its digest"
            yield f"only the length of {_keys(number)} {was} compared, {why}: {_shown(self.lengths_only)}"
        yield from (f"zone {zone} was not compared: {why}" for zone, why in self.unread.items())


async def compare_zones(
    groups: Sequence[Mapping[str, Address]], *, within_s: float = WITHIN_S, progress: Progress = lambda keys: None
) -> KeyComparison:
    """Each of ``groups`` has the servers, by zone, that hold the same keys."""
    found = KeyComparison()
    try:
        async with asyncio.timeout(within_s):
            for group in groups:
                try:
                    await _compare(group, found, progress)
                except (OSError, RedisError) as error:  # a server that answered has died, or is loading
                    found.complete = False
                    found.unread[", ".join(group)] = str(error) or type(error).__name__
    except TimeoutError:
        found.complete = False
    return found


async def _compare(group: Mapping[str, Address], found: KeyComparison, progress: Progress) -> None:
    servers = {zone: address for zone, address in group.items() if await _answers(zone, address, found)}
    if len(servers) < 2:
        return
    listed = [await _keys_of(address) for address in servers.values()]
    everywhere = set.intersection(*listed)
    chosen = sorted(set.union(*listed), key=lambda key: (key in everywhere, key))
    if len(chosen) > KEYS_MAX or any(len(keys) >= _LISTED_MAX for keys in listed):
        found.complete = False
    ordered = chosen[:KEYS_MAX]
    differing: _HeldByKey = {}
    for begin in range(0, len(ordered), _BATCH):
        part = await _held_by(servers, ordered[begin : begin + _BATCH])
        found.lengths_only += [_name(key) for key, held in part.items() if any(one.by_length for one in held.values())]
        differing |= {key: held for key, held in part.items() if _noted(_name(key), held, found)}
        found.compared += len(part)
        progress(found.compared)
    await _look_again(servers, differing, found)


async def _look_again(servers: Mapping[str, Address], differing: _HeldByKey, found: KeyComparison) -> None:
    """Take back keys that were written between the reads of two servers, and note those that change all the time."""
    before, changing = dict(list(differing.items())[:AGAIN_KEYS_MAX]), set(differing)
    for _ in range(AGAIN_MAX):
        if not before:
            return
        await asyncio.sleep(_AGAIN_S)
        now: _HeldByKey = {}
        for begin in range(0, len(before), _BATCH):
            now |= await _held_by(servers, list(before)[begin : begin + _BATCH])
        for key, held in now.items():
            found.differing.pop(_name(key), None)
            with suppress(ValueError):
                found.ttls.remove(_name(key))
            if [one.digest for one in held.values()] == [one.digest for one in before[key].values()]:
                changing.discard(key)
        before = {key: held for key, held in now.items() if _noted(_name(key), held, found)}
    found.changing += [_name(key) for key in before if key in changing]


async def _held_by(servers: Mapping[str, Address], keys: Sequence[bytes]) -> _HeldByKey:
    held = await asyncio.gather(*(_held(address, keys) for address in servers.values()))
    return {key: dict(zip(servers, each, strict=True)) for key, *each in zip(keys, *held, strict=True)}


def _noted(name: str, held: Mapping[str, _KeyCopy], found: KeyComparison) -> bool:
    """Note in ``found`` how the key differs; False if it does not."""
    if len({one.digest for one in held.values()}) > 1:
        found.differing[name] = {zone: one.elements for zone, one in held.items()}
        return True
    ttls = [one.ttl_ms for one in held.values()]
    if (min(ttls) < 0) != (max(ttls) < 0) or (min(ttls) >= 0 and max(ttls) - min(ttls) > TTL_MS):
        found.ttls.append(name)
        return True
    return False


def _name(key: bytes) -> str:
    return key.decode("utf-8", "backslashreplace")


async def _answers(zone: str, address: Address, found: KeyComparison) -> bool:
    try:
        async with admin_client(address, timeout_s=_READ_S) as client:
            await client.ping()
    except (OSError, RedisError) as error:
        found.unread[zone] = str(error) or type(error).__name__
        return False
    return True


async def _keys_of(address: Address) -> set[bytes]:
    found: set[bytes] = set()
    async with _raw(address) as client:
        async for key in client.scan_iter(count=1_000):
            found.add(key)
            if len(found) >= _LISTED_MAX:
                break
    return found


async def _held(address: Address, keys: Sequence[bytes]) -> list[_KeyCopy]:
    """``keys`` as the server has them."""
    async with _raw(address) as client:
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            pipeline.type(key)
            pipeline.pttl(key)
        replies = await pipeline.execute()
        kinds = [kind.decode() for kind in replies[::2]]
        for key, kind in zip(keys, kinds, strict=True):
            pipeline.execute_command(*_SIZE.get(kind, ("EXISTS",)), key)
        sizes = await pipeline.execute(raise_on_error=False)
        digests = await _digests(client, keys, kinds, sizes)
        return [
            _ABSENT
            if kind == "none"
            else _KeyCopy(
                elements=_number(size),
                digest=f"{kind} {digest or _number(size)}",
                ttl_ms=ttl,
                by_length=digest is None,
            )
            for kind, ttl, size, digest in zip(kinds, replies[1::2], sizes, digests, strict=True)
        ]


async def _digests(
    client: Redis, keys: Sequence[bytes], kinds: Sequence[str], sizes: Sequence[Any]
) -> list[str | None]:
    """The server's own digests where it reports them, else ours of what keys hold; None for keys that are too long."""
    try:
        replies = await client.execute_command("DEBUG", "DIGEST-VALUE", *keys)  # type: ignore[no-untyped-call]
        return [one.decode() for one in replies]
    except ResponseError:
        pass
    pipeline = client.pipeline(transaction=False)
    asked = []
    for key, kind, size in zip(keys, kinds, sizes, strict=True):
        if kind in _SIZE and _number(size) <= (BYTES_MAX if kind == "string" else ELEMENTS_MAX):
            before, after = _READ[kind]
            pipeline.execute_command(*before, key, *after)
            asked.append(key)
    values = dict(zip(asked, await pipeline.execute(raise_on_error=False), strict=True))
    return [_digest_of(kind, values[key]) if key in values else None for key, kind in zip(keys, kinds, strict=True)]


_SIZE = {
    "list": ("LLEN",),
    "hash": ("HLEN",),
    "set": ("SCARD",),
    "zset": ("ZCARD",),
    "stream": ("XLEN",),
    "string": ("STRLEN",),
}
_READ = {
    "list": (("LRANGE",), (0, -1)),
    "hash": (("HGETALL",), ()),
    "set": (("SMEMBERS",), ()),
    "zset": (("ZRANGE",), (0, -1, "WITHSCORES")),
    "stream": (("XRANGE",), ("-", "+")),
    "string": (("GET",), ()),
}


def _digest_of(kind: str, value: Any) -> str:
    if kind == "hash" and isinstance(value, dict):
        value = sorted(value.items())
    elif kind == "set" or (kind == "zset" and value and isinstance(value[0], tuple)):
        value = sorted(value)
    return sha256(repr(value).encode()).hexdigest()


def _number(size: Any) -> int:
    return size if isinstance(size, int) else 0


def _raw(address: Address) -> Redis:
    return Redis(host=address.host, port=address.port, socket_timeout=_READ_S, socket_connect_timeout=_READ_S)


def _shown(keys: Sequence[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys[:KEYS_SHOWN]) + (", …" if len(keys) > KEYS_SHOWN else "")


def _counts(held: Mapping[str, int]) -> str:
    return f"{', '.join(f'{zone} {count:,}' for zone, count in held.items())} elements"


def _keys(number: int) -> str:
    return f"{number:,} key" if number == 1 else f"{number:,} keys"


def _differ(number: int) -> str:
    return "differs" if number == 1 else "differ"
