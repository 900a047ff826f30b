"""XGROUP: the groups of a stream and their consumers."""

from dataclasses import dataclass

from zonelab.cluster.sim.redis.commands.stream_ids import any_id, strict_id
from zonelab.cluster.sim.redis.consumer_group import ConsumerGroup, GroupConsumer
from zonelab.cluster.sim.redis.numbers import integer
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import OK, StatusReply, SubcommandSyntaxError, fail, text
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.stream_value import EntryId, Stream
from zonelab.engine.ports import Reply

_NEEDS_KEY = (
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option "
    "to create an empty stream automatically."
)
_CREATE_WORDS_MAX, _SETID_WORDS_MAX = 6, 5
"""Words behind the sub-command: an option may be there twice, but not more often."""

_HELP = """\
XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
CREATE <key> <groupname> <id|$> [option]
    Create a new consumer group. Options are:
    * MKSTREAM
      Create the empty stream if it does not exist.
    * ENTRIESREAD entries_read
      Set the group's entries_read counter (internal use).
CREATECONSUMER <key> <groupname> <consumer>
    Create a new consumer in the specified group.
DELCONSUMER <key> <groupname> <consumer>
    Remove the specified consumer.
DESTROY <key> <groupname>
    Remove the specified group.
SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]
    Set the current group ID and entries_read counter.
HELP
    Print this help."""


@dataclass(slots=True)
class _GroupOptions:
    creates_stream: bool = False
    entries_read: int | None = None


def _options(verb: str, words: Args) -> _GroupOptions:
    options = _GroupOptions()
    at = 0
    while at < len(words):
        option = words[at].upper()
        if option == b"MKSTREAM" and verb == "CREATE":
            options.creates_stream = True
            at += 1
        elif option == b"ENTRIESREAD" and at + 1 < len(words):
            read = integer(words[at + 1])
            if read < -1:
                fail("ERR value for ENTRIESREAD must be positive or -1")
            options.entries_read = None if read == -1 else read
            at += 2
        else:
            raise SubcommandSyntaxError
    return options


def _stream(store: Database, key: bytes) -> Stream:
    stream = store.get(key, Stream)
    return fail(_NEEDS_KEY) if stream is None else stream


def _group(store: Database, key: bytes, name: bytes) -> ConsumerGroup:
    group = _stream(store, key).groups.get(name)
    if group is None:
        fail(f"NOGROUP No such consumer group '{text(name)}' for key name '{text(key)}'")
    return group


def _start(word: bytes, stream: Stream | None) -> EntryId:
    if word.partition(b"\0")[0] != b"$":
        return strict_id(word)
    return 0 if stream is None else stream.last_id


def seen(store: Database, key: bytes, group: ConsumerGroup, name: bytes) -> GroupConsumer:
    """Return a consumer of a group of the stream ``key``, which asks for entries now; it is made if there is none."""
    if name not in group.consumers:
        store.announce("xgroup-createconsumer", key)
    store.changes += 1
    return group.seen(name, store.now_ms)


@command("xgroup|create", -5)
def create(store: Database, args: Args) -> Reply:
    key, name, start = args[:3]
    options = _options("CREATE", args[3:])
    stream = store.get(key, Stream) if options.creates_stream else _stream(store, key)
    if len(args) > _CREATE_WORDS_MAX:
        raise SubcommandSyntaxError
    last_id = _start(start, stream)
    stream = store.get_or_create(key, Stream)
    if name in stream.groups:
        fail("BUSYGROUP Consumer Group name already exists")
    stream.groups[name] = ConsumerGroup(last_id, options.entries_read)
    store.changed(key, "xgroup-create")
    return OK


@command("xgroup|setid", -5)
def setid(store: Database, args: Args) -> Reply:
    key, name, start = args[:3]
    options = _options("SETID", args[3:])
    group = _group(store, key, name)
    if len(args) > _SETID_WORDS_MAX:
        raise SubcommandSyntaxError
    group.last_id = _stream(store, key).last_id if start.partition(b"\0")[0] == b"$" else any_id(start)
    group.entries_read = options.entries_read
    store.changed(key, "xgroup-setid")
    return OK


@command("xgroup|destroy", 4)
def destroy(store: Database, args: Args) -> Reply:
    removed = int(_stream(store, args[0]).groups.pop(args[1], None) is not None)
    store.changed(args[0], "xgroup-destroy", by=removed)
    return removed


@command("xgroup|createconsumer", 5)
def createconsumer(store: Database, args: Args) -> Reply:
    group = _group(store, args[0], args[1])
    if args[2] in group.consumers:
        return 0
    group.consumers[args[2]] = GroupConsumer(store.now_ms)
    store.changed(args[0], "xgroup-createconsumer")
    return 1


@command("xgroup|delconsumer", 5)
def delconsumer(store: Database, args: Args) -> Reply:
    pending = _group(store, args[0], args[1]).remove_consumer(args[2])
    store.changed(args[0], "xgroup-delconsumer", by=pending is not None)
    return pending or 0


@command("xgroup|help", 2)
def help_(store: Database, args: Args) -> Reply:
    return [StatusReply(line.encode()) for line in _HELP.splitlines()]
