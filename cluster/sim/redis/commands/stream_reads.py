"""XREAD and XREADGROUP: entries of several streams, by one reader or by the consumers of a group.

A request is read once, by ``read_request``, and carried out on a server by ``serve``: None if there is nothing to give,
which ends a command that does not block, and one that does when its time is over.
"""

from dataclasses import dataclass
from itertools import islice

from zonelab.cluster.sim.redis.commands.stream_groups import seen
from zonelab.cluster.sim.redis.commands.stream_ids import entry_reply, strict_id
from zonelab.cluster.sim.redis.consumer_group import ConsumerGroup, PendingEntry
from zonelab.cluster.sim.redis.numbers import INTEGER_MAX, integer, wrapped
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, fail, text
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.stream_value import ID_MAX, Entry, EntryId, Stream
from zonelab.engine.ports import Reply

_NEW, _LAST, _END = b">", b"+", b"$"
_TOO_LONG = "ERR timeout is out of range"
_CLOCK_MIN_MS = 10**12
"""No server's clock shows less: a wait ends within 63 bits."""

_ONLY_GROUPS = "ERR The {} option is only supported by XREADGROUP. You called XREAD instead."
_MEANINGLESS = (
    "ERR The {} ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by "
    "specifying a proper ID, or use the > ID to get new messages. The {} ID would just return an empty result set."
)
_NEW_WITHOUT_GROUP = (
    "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
)


@dataclass(slots=True)
class ReadRequest:
    """The arguments of XREAD or XREADGROUP.

    ``block_ms`` None: it does not wait. ``ids``: one for each key, as they are written. ``count`` 0: all entries.
    """

    keys: Args
    ids: Args
    count: int = 0
    block_ms: int | None = None
    group: bytes | None = None
    consumer: bytes = b""
    acknowledges: bool = False
    """NOACK: what a consumer gets is not pending."""


def read_request(name: str, args: Args) -> ReadRequest:
    """Return what the command ``name``, xread or xreadgroup, asks for; raise ``CommandError`` for a wrong option."""
    grouped = name == "xreadgroup"
    request = ReadRequest([], [])
    at = 0
    while not request.keys:
        if at >= len(args):
            fail(SYNTAX)
        at += _read_option(request, name, args[at].upper(), args[at + 1 :])
    if grouped and request.group is None:
        fail("ERR Missing GROUP option for XREADGROUP")
    return request


def _read_option(request: ReadRequest, name: str, option: bytes, rest: Args) -> int:
    """Take one option; the number of its words."""
    grouped = name == "xreadgroup"
    if option == b"BLOCK" and rest:
        request.block_ms = _timeout(rest[0])
    elif option == b"COUNT" and rest:
        request.count = max(0, integer(rest[0]))
    elif option == b"STREAMS" and rest:
        half, odd = divmod(len(rest), 2)
        if odd:
            sign = ">" if grouped else "$"
            fail(f"ERR Unbalanced '{name}' list of streams: for each stream key an ID or '{sign}' must be specified.")
        request.keys, request.ids = rest[:half], rest[half:]
    elif option == b"GROUP" and len(rest) > 1:
        if not grouped:
            fail(_ONLY_GROUPS.format("GROUP"))
        request.group, request.consumer = rest[:2]
        return 3
    elif option == b"NOACK":
        if not grouped:
            fail(_ONLY_GROUPS.format("NOACK"))
        request.acknowledges = True
        return 1
    else:
        fail(SYNTAX)
    return 2


def _timeout(word: bytes) -> int:
    value = integer(word, "ERR timeout is not an integer or out of range")
    if value > INTEGER_MAX - _CLOCK_MIN_MS:
        fail(_TOO_LONG)
    return value if value >= 0 else fail("ERR timeout is negative")


def serve(store: Database, request: ReadRequest) -> Reply:
    """Return what the streams hold for this request now, None if there is nothing.

    Raises ``CommandError`` for a key of another type, a group that is not there or an id that is none.
    """
    if request.block_ms is not None and request.block_ms > INTEGER_MAX - store.now_ms:
        fail(_TOO_LONG)
    reads = [_reading(store, request, key, word) for key, word in zip(request.keys, request.ids, strict=True)]
    served: list[tuple[bytes, list[Reply]]] = []
    for key, (stream, group, after) in zip(request.keys, reads, strict=True):
        if stream is None:
            continue
        if group is None:
            found = _new(stream, after, request.count)
        else:
            found = _grouped(store, request, key, stream, group, after)
        if found is not None:
            served.append((key, found))
    return [[key, found] for key, found in served] or None


_Reading = tuple[Stream | None, ConsumerGroup | None, EntryId]
"""A stream, its group and the id after which to read; ``ID_MAX`` for what a group has not given yet."""


def _reading(store: Database, request: ReadRequest, key: bytes, word: bytes) -> _Reading:
    stream = store.get(key, Stream)
    written = word.partition(b"\0")[0]
    if request.group is None:
        return stream, None, _id_of_reader(stream, written, word)
    group = None if stream is None else stream.groups.get(request.group)
    if group is None:
        absent = f"No such key '{text(key)}' or consumer group '{text(request.group)}'"
        fail(f"NOGROUP {absent} in XREADGROUP with GROUP option")
    if written in (_END, _LAST):
        fail(_MEANINGLESS.format(text(written), text(written)))
    return stream, group, ID_MAX if written == _NEW else strict_id(word)


def _id_of_reader(stream: Stream | None, written: bytes, word: bytes) -> EntryId:
    if written == _NEW:
        fail(_NEW_WITHOUT_GROUP)
    if written not in (_END, _LAST):
        return strict_id(word)
    if stream is None:
        return 0
    if written == _END:
        return stream.last_id
    return max(0, stream.last_id - 1)


def _new(stream: Stream, after: EntryId, count: int) -> list[Reply] | None:
    found = [] if after == ID_MAX else stream.between(after + 1, ID_MAX, count=count)
    return [entry_reply(*entry) for entry in found] or None


def _grouped(
    store: Database, request: ReadRequest, key: bytes, stream: Stream, group: ConsumerGroup, after: EntryId
) -> list[Reply] | None:
    seen(store, key, group, request.consumer)
    if after != ID_MAX:
        return _history(store, request, stream, group, after)
    found = [] if group.last_id == ID_MAX else stream.between(group.last_id + 1, ID_MAX, count=request.count)
    for entry in found:
        _give(store, request, stream, group, entry)
    return [entry_reply(*entry) for entry in found] or None


def _history(
    store: Database, request: ReadRequest, stream: Stream, group: ConsumerGroup, after: EntryId
) -> list[Reply]:
    """Return what the consumer has already; each entry that is still there is delivered once more."""
    pending = group.consumers[request.consumer].pending
    replies: list[Reply] = []
    for entry_id in islice(pending.irange(after + 1), request.count or None):
        fields = stream.get(entry_id)
        if fields is not None:
            held: PendingEntry = group.pending[entry_id]
            group.pending[entry_id] = held._replace(delivered_ms=store.now_ms, deliveries=held.deliveries + 1)
        replies.append(entry_reply(entry_id, fields))
    return replies


def _give(store: Database, request: ReadRequest, stream: Stream, group: ConsumerGroup, entry: Entry) -> None:
    entry_id, _ = entry
    if group.entries_read is not None and group.last_id >= stream.first_id and stream.is_counted(group):
        group.entries_read = wrapped(group.entries_read + 1)
    elif stream.added:
        group.entries_read = stream.entries_until(entry_id)
    group.last_id = entry_id
    if not request.acknowledges:
        group.give(entry_id, PendingEntry(request.consumer, store.now_ms, deliveries=1))
        group.consumers[request.consumer].active_ms = store.now_ms


def _read(name: str, arity: int) -> None:
    def parse(args: Args) -> ReadRequest:
        return read_request(name, args)

    command(name, arity, parse=parse)(serve)


_read("xread", -4)
_read("xreadgroup", -7)
