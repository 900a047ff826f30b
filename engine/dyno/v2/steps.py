"""The steps of the pipelined queue: each is one pipeline over a connection, the keys of a shard, and a batch.

A step that decides something (who has the lease, who took the message out of the waiting set) has a command of its
own for every id, because the reply is the decision. An empty batch sends nothing. Errors:
``zonelab.engine.ports.PortError`` for the pipeline as a whole; ``ServerError`` if the server refused every command of a
step, or any command of a read; ``Indeterminate`` if it refused some of a step that writes.
Source of the commands: https://github.com/Netflix/dyno-queues, ``v2/RedisPipelineQueue``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zonelab.engine.common.pipelines import read, write
from zonelab.engine.dyno.v2.keys import PipelinedKeys, bucket_of
from zonelab.engine.ports import Argument, Command, Connection

REQUEUE = Path(__file__).with_name("lua").joinpath("requeue.lua").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class ListingEntry:
    """A message to be listed: its JSON and its score (due time in ms and priority, ``zonelab.engine.dyno.scores``)."""

    message_id: str
    raw: bytes
    score: float


@dataclass(frozen=True, slots=True)
class EndedLease:
    """A lease that has ended. ``score``: its end in ms, as the server wrote it."""

    message_id: str
    score: bytes


def push_commands(keys: PipelinedKeys, entries: Sequence[ListingEntry], *, payload_first: bool) -> list[Command]:
    """Return two commands an entry, its payload before its id: a pipeline that is cut leaves no id without payload."""
    commands: list[Command] = []
    for entry in entries:
        store: Command = ("HSET", keys.payload_of(entry.message_id), entry.message_id, entry.raw)
        listing: Command = ("ZADD", keys.waiting, entry.score, entry.message_id)
        commands += (store, listing) if payload_first else (listing, store)
    return commands


async def due_ids(connection: Connection, keys: PipelinedKeys, *, until: int, limit: int) -> list[str]:
    """The first ``limit`` waiting ids with scores 0 to ``until``, in their order."""
    (members,) = await read(connection, [("ZRANGEBYSCORE", keys.waiting, 0, until, "LIMIT", 0, limit)])
    return [member.decode() for member in members]


async def lease(
    connection: Connection, keys: PipelinedKeys, ids: Sequence[str], *, end_ms: int, nx: bool
) -> list[bool]:
    """Write leases until ``end_ms``; with ``nx`` false for an id that has one already, without it over any other."""
    flags = ("NX",) if nx else ()
    commands: list[Command] = [("ZADD", keys.lease_of(each), *flags, end_ms, each) for each in ids]
    return [reply > 0 or not nx for reply in await write(connection, commands, name="lease")]


async def unlist(connection: Connection, keys: PipelinedKeys, ids: Sequence[str]) -> list[bool]:
    """Take ids out of the waiting set; false for an id that was not in it."""
    commands: list[Command] = [("ZREM", keys.waiting, each) for each in ids]
    return [reply > 0 for reply in await write(connection, commands, name="removal from the waiting set")]


async def payloads(connection: Connection, keys: PipelinedKeys, ids: Sequence[str]) -> list[bytes | None]:
    """The JSON of each id, None for an id without payload."""
    return await read(connection, [("HGET", keys.payload_of(each), each) for each in ids])


async def end_leases(connection: Connection, keys: PipelinedKeys, ids: Sequence[str]) -> list[bool]:
    """Remove the leases of ids; false for an id without lease."""
    commands: list[Command] = [("ZREM", keys.lease_of(each), each) for each in ids]
    return [reply > 0 for reply in await write(connection, commands, name="end of leases")]


async def delete_payloads(connection: Connection, keys: PipelinedKeys, ids: Sequence[str]) -> list[bool]:
    """Delete the payloads of ids; false for an id without payload."""
    commands: list[Command] = [("HDEL", keys.payload_of(each), each) for each in ids]
    return [reply > 0 for reply in await write(connection, commands, name="deletion of payloads")]


async def waiting_scores(connection: Connection, keys: PipelinedKeys, ids: Sequence[str]) -> list[float | None]:
    """The score of each id in the waiting set, None for an id that is not in it."""
    replies = await read(connection, [("ZSCORE", keys.waiting, each) for each in ids])
    return [None if reply is None else float(reply) for reply in replies]


async def ended_leases(
    connection: Connection, keys: PipelinedKeys, buckets: Sequence[int], *, until: int, limit: int
) -> list[list[EndedLease]]:
    """For each of ``buckets`` the first ``limit`` leases that end from 0 to ``until``, in order of their ends."""
    flats = await read(
        connection,
        [("ZRANGEBYSCORE", keys.leases[each], 0, until, "WITHSCORES", "LIMIT", 0, limit) for each in buckets],
    )
    return [
        [EndedLease(member.decode(), score) for member, score in zip(flat[::2], flat[1::2], strict=True)]
        for flat in flats
    ]


async def requeue(
    connection: Connection, keys: PipelinedKeys, scored: Sequence[tuple[str, float | bytes]], *, now_ms: int
) -> int:
    """List ids as waiting with their scores and remove their leases, if these have ended by ``now_ms``; how many.

    One script for each bucket that has any (``lua/requeue.lua``), so that of two handlers the slower one does nothing.
    """
    by_bucket: dict[int, list[Argument]] = {}
    for message_id, score in scored:
        by_bucket.setdefault(bucket_of(message_id), []).extend((message_id, score))
    commands: list[Command] = [
        ("EVAL", REQUEUE, 2, keys.waiting, keys.leases[bucket], now_ms, *pairs) for bucket, pairs in by_bucket.items()
    ]
    return sum(await write(connection, commands, name="requeue"))


async def requeue_unasked(
    connection: Connection, keys: PipelinedKeys, scored: Sequence[tuple[str, float | bytes]]
) -> int:
    """List ids as waiting, then remove their leases, whatever became of these since they were read; how many moved.

    Listed before unlisted: a pipeline that is cut in between leaves an id in both sets, and the next run mends that.
    """
    commands: list[Command] = []
    for message_id, score in scored:
        commands.append(("ZADD", keys.waiting, score, message_id))
        commands.append(("ZREM", keys.lease_of(message_id), message_id))
    replies = await write(connection, commands, name="requeue")
    return sum(added > 0 and removed > 0 for added, removed in zip(replies[::2], replies[1::2], strict=True))
