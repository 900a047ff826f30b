"""XINFO: a stream, its groups and their consumers as the server describes them."""

from collections.abc import Iterable

from zonelab.cluster.sim.redis.commands.stream_ids import entry_reply
from zonelab.cluster.sim.redis.consumer_group import ConsumerGroup
from zonelab.cluster.sim.redis.numbers import integer
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import NO_SUCH_KEY, StatusReply, SubcommandSyntaxError, fail, text
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.stream_value import ID_MAX, EntryId, Stream, id_text
from zonelab.engine.ports import Reply

_FULL_COUNT = 10
_HELP = """\
XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
CONSUMERS <key> <groupname>
    Show consumers of <groupname>.
GROUPS <key>
    Show the stream consumer groups.
STREAM <key> [FULL [COUNT <count>]
    Show information about the stream.
HELP
    Print this help."""


def _stream(store: Database, key: bytes) -> Stream:
    stream = store.get(key, Stream)
    return fail(NO_SUCH_KEY) if stream is None else stream


def _map(values: dict[str, Reply]) -> Reply:
    return [part for name, value in values.items() for part in (name.encode(), value)]


@command("xinfo|stream", -3)
def stream_(store: Database, args: Args) -> Reply:
    stream = _stream(store, args[0])
    about: dict[str, Reply] = {
        "length": stream.length,
        "radix-tree-keys": stream.blocks,
        "radix-tree-nodes": stream.blocks + 1,
        "last-generated-id": id_text(stream.last_id),
        "max-deleted-entry-id": id_text(stream.max_deleted_id),
        "entries-added": stream.added,
        "recorded-first-entry-id": id_text(stream.first_id),
    }
    if len(args) > 1:
        count = _full_count(args[1:])
        about["entries"] = _entries(stream, count)
        about["groups"] = [_group_in_full(stream, *named, count) for named in sorted(stream.groups.items())]
    else:
        about["groups"] = len(stream.groups)
        about["first-entry"] = (_entries(stream, 1) or [None])[0]
        about["last-entry"] = (_entries(stream, 1, reverse=True) or [None])[0]
    return _map(about)


def _full_count(options: Args) -> int:
    if len(options) not in (1, 3) or options[0].upper() != b"FULL":
        raise SubcommandSyntaxError
    if len(options) == 1:
        return _FULL_COUNT
    if options[1].upper() != b"COUNT":
        raise SubcommandSyntaxError
    count = integer(options[2])
    return count if count >= 0 else _FULL_COUNT


def _entries(stream: Stream, count: int, *, reverse: bool = False) -> list[Reply]:
    return [entry_reply(*entry) for entry in stream.between(0, ID_MAX, count=count, reverse=reverse)]


def _group_in_full(stream: Stream, name: bytes, group: ConsumerGroup, count: int) -> Reply:
    return _map(
        {
            "name": name,
            "last-delivered-id": id_text(group.last_id),
            "entries-read": group.entries_read,
            "lag": stream.lag(group),
            "pel-count": len(group.pending),
            "pending": [
                [id_text(entry_id), held.consumer, held.delivered_ms, held.deliveries]
                for entry_id, held in group.pending.items()[: count or None]
            ],
            "consumers": [
                _map(
                    {
                        "name": consumer_name,
                        "seen-time": consumer.seen_ms,
                        "active-time": consumer.active_ms,
                        "pel-count": len(consumer.pending),
                        "pending": _pending(group, consumer.pending[: count or None]),
                    }
                )
                for consumer_name, consumer in group.named_consumers()
            ],
        }
    )


def _pending(group: ConsumerGroup, ids: Iterable[EntryId]) -> Reply:
    held = [(entry_id, group.pending[entry_id]) for entry_id in ids]
    return [[id_text(entry_id), one.delivered_ms, one.deliveries] for entry_id, one in held]


@command("xinfo|groups", 3)
def groups(store: Database, args: Args) -> Reply:
    stream = _stream(store, args[0])
    return [
        _map(
            {
                "name": name,
                "consumers": len(group.consumers),
                "pending": len(group.pending),
                "last-delivered-id": id_text(group.last_id),
                "entries-read": group.entries_read,
                "lag": stream.lag(group),
            }
        )
        for name, group in sorted(stream.groups.items())
    ]


@command("xinfo|consumers", 4)
def consumers(store: Database, args: Args) -> Reply:
    group = _stream(store, args[0]).groups.get(args[1])
    if group is None:
        fail(f"NOGROUP No such consumer group '{text(args[1])}' for key name '{text(args[0])}'")
    now_ms = store.now_ms
    return [
        _map(
            {
                "name": name,
                "pending": len(consumer.pending),
                "idle": max(0, now_ms - consumer.seen_ms),
                "inactive": -1 if consumer.active_ms == -1 else now_ms - consumer.active_ms,
            }
        )
        for name, consumer in group.named_consumers()
    ]


@command("xinfo|help", 2)
def help_(store: Database, args: Args) -> Reply:
    return [StatusReply(line.encode()) for line in _HELP.splitlines()]
