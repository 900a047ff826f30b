"""The steps of hardened mode: each changes or reads any number of messages in one command or one pipeline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1
from typing import Any, Self, TypeVar

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.dyno.hardened.mechanisms import Hardening
from zonelab.engine.dyno.hardened.records.keys import HardenedKeys
from zonelab.engine.dyno.hardened.records.record import PRIORITY_WEIGHT, MessageRecord, rank
from zonelab.engine.dyno.hardened.records.scripts import RecordScripts
from zonelab.engine.dyno.hardened.settings import HardenedSettings
from zonelab.engine.dyno.message_json import encode
from zonelab.engine.dyno.scores import due_score
from zonelab.engine.message import Message
from zonelab.engine.ports import Argument, Command, Connection, ServerError

PROMOTED_MAX = 1_000
"""Ids in one step: few enough that a server is not kept busy for long."""

STEP_MAX = 500
"""Messages in one command: few enough that a server is not kept busy for long."""

Item = TypeVar("Item")


def in_steps(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Parts of ``items`` that one command each may carry."""
    return (items[begin : begin + STEP_MAX] for begin in range(0, len(items), STEP_MAX))


@dataclass(frozen=True, slots=True)
class PutRequest:
    """Arguments of the script ``put`` for one message. ``due``: it is ready at once, instead of delayed."""

    id: str
    payload: bytes
    shard: str
    score: float
    rank: float
    due: bool

    @classmethod
    def of(cls, message: Message, *, shard: str, due_ms: int, now_ms: int, settings: HardenedSettings) -> Self:
        """Return the request that lists ``message`` in ``shard`` at ``now_ms``, to be delivered from ``due_ms`` on."""
        score = due_score(due_ms, priority=message.priority)
        ranked = settings.has(Hardening.PRIORITY_ORDER)
        return cls(
            id=message.id,
            payload=encode(message),
            shard=shard,
            score=score,
            rank=rank(due_ms, priority=message.priority) if ranked else score,
            due=due_ms <= now_ms,
        )


@dataclass(frozen=True, slots=True)
class HardenedLease:
    """A lease as its holder knows it."""

    id: str
    token: str
    ends_ms: int


@dataclass(frozen=True, slots=True)
class RecordChange:
    """The record ``new`` for each zone that still has ``seen``; with the payload, if a zone may lack it."""

    id: str
    seen: MessageRecord | None
    new: bytes
    payload: bytes | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """Ready ids in the order of service, as the zone behind ``view`` has them."""

    view: Connection
    ids: list[str]


@dataclass(frozen=True, slots=True)
class Head:
    """An id in the order of service, with what the zone that was asked has of it."""

    id: str
    record: MessageRecord | None
    payload: bytes | None


class Steps:
    """The commands of a hardened queue.

    Writes go over ``level``, at the level of the user's choice; decisions over ``safe``; reads of one zone over
    ``local``, the own one, or ``others``.
    """

    def __init__(
        self,
        *,
        level: Connection,
        safe: Connection,
        local: Connection,
        others: Sequence[Connection],
        keys: HardenedKeys,
        settings: HardenedSettings,
    ) -> None:
        self._level = level
        self._deciding = safe if settings.has(Hardening.LEASE_PROOF) else level
        self._local = local
        self._others = tuple(others)
        self._keys = keys
        self._settings = settings
        self._scripts = RecordScripts(keys=keys, shards=settings.shards)

    async def put(self, puts: Sequence[PutRequest]) -> list[tuple[str, float]]:
        """List messages; for each the shard where it is now, and its score there."""
        known = int(self._settings.has(Hardening.IDEMPOTENT_PUSH))
        words: list[Argument] = [known]
        for put in puts:
            words += [put.id, put.payload, put.shard, put.score, put.rank, int(put.due)]
        answers = await self._run(self._level, self._scripts.on_messages("put", *words))
        parts = (answer.decode().split(" ") for answer in answers)
        return [(shard, float(score)) for shard, score in parts]

    async def put_new(self, puts: Sequence[PutRequest]) -> list[bool]:
        """List messages; false for those whose ids two zones knew, alive or acknowledged."""
        words = [word for put in puts for word in (put.id, put.payload, put.shard, put.score, put.rank, int(put.due))]
        return [bool(answer) for answer in await self._run(self._level, self._scripts.on_messages("put_new", *words))]

    async def ready(self, shard: str, count: int, *, now_ms: int, until: int) -> Ready:
        """The first ``count`` ready ids of the first zone that answers, after making ready what is due there."""
        failure: Exception | None = None
        for view in (self._local, *self._others):
            try:
                return Ready(view, await self._ready(view, shard, count, now_ms=now_ms, until=until))
            except COMMAND_FAILURES as error:
                failure = failure or error
        assert failure is not None
        raise failure

    async def heads(self, ready: Ready, ids: Sequence[str]) -> list[Head]:
        """Return the records and payloads of ``ids`` in the zone that listed them."""
        raws, payloads = await _read(
            ready.view, ("HMGET", self._keys.records, *ids), ("HMGET", self._keys.messages, *ids)
        )
        return [
            Head(message_id, None if raw is None else MessageRecord.parse(raw), payload)
            for message_id, raw, payload in zip(ids, raws, payloads, strict=True)
        ]

    async def lease(self, payloads: Mapping[str, bytes], *, token: str, now_ms: int, ends_ms: int) -> list[str]:
        """The answers of the script ``lease``, on which two zones agree. ``payloads``: by id, as one zone has them."""
        margin_ms = self._settings.clock_margin_ms
        name, words = "lease", [*payloads]
        if self._settings.payloads_compared:
            name, words = "lease_same", [*payloads, *map(_digest, payloads.values())]
        command = self._scripts.on_messages(name, now_ms, margin_ms, ends_ms, token, *words)
        return [answer.decode() for answer in await self._run(self._deciding, command)]

    async def release(self, ids: Sequence[str], *, token: str, delivered: bool) -> None:
        """End the leases of ``token``. ``delivered``: somebody had the messages, so it counts as a delivery."""
        words: list[Argument] = [int(delivered)]
        for message_id in ids:
            words += [message_id, token]
        await self._run(self._level, self._scripts.on_messages("release", *words))

    async def ack(self, leases: Sequence[HardenedLease], *, now_ms: int) -> list[bool]:
        words = [word for one in leases for word in (one.id, one.token, one.ends_ms)]
        kept = int(self._settings.has(Hardening.TOMBSTONES))
        command = self._scripts.on_messages("ack", now_ms, self._compared, kept, *words)
        return [bool(answer) for answer in await self._run(self._deciding, command)]

    async def extend(self, leases: Sequence[HardenedLease], *, ends_ms: int) -> list[bool]:
        words = [word for one in leases for word in (one.id, one.token, one.ends_ms, ends_ms)]
        command = self._scripts.on_messages("extend", self._compared, *words)
        return [bool(answer) for answer in await self._run(self._deciding, command)]

    async def repair(self, changes: Sequence[RecordChange], *, now_ms: int) -> None:
        """Write ``changes`` in every zone, each only where a replica still has what was seen."""
        words: list[Argument] = [now_ms]
        for change in changes:
            seen = b"" if change.seen is None else change.seen.raw
            words += [change.id, seen, change.new, change.payload or b""]
        await self._run(self._level, self._scripts.on_messages("repair", *words))

    async def set_aside(self, ids: Sequence[str], *, now_ms: int) -> list[bool]:
        """Make them dead letters; true for those that were alive."""
        answers = await self._run(self._deciding, self._scripts.on_messages("set_aside", now_ms, "x", *ids))
        return [bool(answer) for answer in answers]

    async def remove(self, ids: Sequence[str], *, now_ms: int) -> list[bool]:
        """Bury them whoever has them; true for those that were alive."""
        answers = await self._run(self._level, self._scripts.on_messages("set_aside", now_ms, "d", *ids))
        return [bool(answer) for answer in answers]

    async def forget(self, *, before_ms: int, most: int) -> None:
        await self._run(self._level, self._scripts.on_messages("forget", before_ms, most))

    async def buried_before(self, before_ms: int) -> bool:
        """Return whether the own zone has tombstones older than ``before_ms``."""
        key = self._keys.tombstones
        return bool(await self._run(self._local, ("ZRANGEBYSCORE", key, 0, before_ms, "LIMIT", 0, 1)))

    async def serve(self, shard: str, zone: str, *, now_ms: int, ends_ms: int) -> bool:
        """Take or renew the lease of ``zone`` on ``shard``."""
        own, margin_ms = int(shard == zone), self._settings.clock_margin_ms
        answer = await self._run(self._deciding, self._scripts.serve(shard, zone, now_ms, margin_ms, ends_ms, own))
        return bool(answer)

    async def servers(self) -> dict[str, tuple[str, int]]:
        """Shard → zone that serves it and until when, as the own zone has it."""
        shards = self._settings.shards
        raws = await self._run(self._local, ("HMGET", self._keys.servers, *shards))
        parts = {shard: raw.decode().split(" ") for shard, raw in zip(shards, raws, strict=True) if raw is not None}
        return {shard: (zone, int(ends)) for shard, (zone, ends) in parts.items()}

    async def payload(self, message_id: str) -> bytes | None:
        found: bytes | None = await self._run(self._level, ("HGET", self._keys.messages, message_id))
        return found

    async def local(self, *commands: Command) -> list[Any]:
        """Reads of the own zone. Raises for an error reply."""
        return [_answer(reply) for reply in await self._local.execute(*commands)]

    @property
    def _compared(self) -> int:
        return int(self._settings.has(Hardening.DELIVERY_TOKENS))

    async def _ready(self, view: Connection, shard: str, count: int, *, now_ms: int, until: int) -> list[str]:
        keys, ended = self._keys, now_ms - self._settings.clock_margin_ms - 1
        first: Command = ("ZRANGE", keys.ready(shard), 0, count - 1)
        ready, due, over = await _read(
            view,
            first,
            ("ZRANGEBYSCORE", keys.queue_of(shard), 0, until, "LIMIT", 0, 1),
            ("ZRANGEBYSCORE", keys.unack(shard), 0, ended, "LIMIT", 0, 1),
        )
        if due or over:
            writer = self._local if view is self._local else self._level
            weight = PRIORITY_WEIGHT if self._settings.has(Hardening.PRIORITY_ORDER) else 0
            words = (shard, until, ended, PROMOTED_MAX, weight)
            await self._run(writer, self._scripts.on_messages("promote", *words))
            (ready,) = await _read(view, first)
        return [message_id.decode() for message_id in ready]

    async def _run(self, connection: Connection, command: Command) -> Any:
        (reply,) = await connection.execute(command)
        return _answer(reply)


async def _read(view: Connection, *commands: Command) -> list[Any]:
    return [_answer(reply) for reply in await view.execute(*commands)]


def _digest(payload: bytes) -> str:
    return sha1(payload, usedforsecurity=False).hexdigest()


def _answer(reply: Any) -> Any:
    if isinstance(reply, ServerError):
        raise reply
    return reply
