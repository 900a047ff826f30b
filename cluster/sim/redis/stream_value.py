"""The value of a stream: entries in blocks, as the server keeps them, and the stream's consumer groups.

The rules are those of ``t_stream.c`` in Valkey 9, https://github.com/valkey-io/valkey. A block takes entries until it
has ``stream-node-max-entries`` of them or ``stream-node-max-bytes`` bytes; a deleted entry keeps its place in it, and
an approximate trim removes whole blocks only. So blocks decide what such a trim leaves.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field, replace
from typing import Any

from zonelab.cluster.sim.redis.consumer_group import ConsumerGroup
from zonelab.cluster.sim.redis.listpack import LISTPACK_BYTES, integer_bytes, word_bytes
from zonelab.cluster.sim.redis.numbers import wrapped

EntryId = int
"""The id of an entry: milliseconds in the upper 64 bits, the sequence number in the lower ones."""

SEQUENCE_BITS = 64
SEQUENCE_MAX = (1 << SEQUENCE_BITS) - 1
ID_MAX: EntryId = (1 << 2 * SEQUENCE_BITS) - 1

Fields = tuple[bytes, ...]
"""Names and values in turn."""

Entry = tuple[EntryId, Fields]

BLOCK_ENTRIES_MAX = 100
_BLOCK_BYTES_MAX = 4096


def id_text(entry_id: EntryId) -> bytes:
    """Return an id as the server writes it: ``1700000000000-0``."""
    return b"%d-%d" % (entry_id >> SEQUENCE_BITS, entry_id & SEQUENCE_MAX)


@dataclass(slots=True)
class _Block:
    """A run of entries. A deleted one has None in place of its fields; ``live`` counts the others."""

    names: Fields
    """Names of the fields of the first entry: an entry with the same ones does not repeat them."""

    size_bytes: int
    ids: list[EntryId] = field(default_factory=list)
    fields: list[Fields | None] = field(default_factory=list)
    live: int = 0

    def copy(self) -> "_Block":
        return replace(self, ids=self.ids.copy(), fields=self.fields.copy())

    def takes(self, size_bytes: int) -> bool:
        """Return whether an entry whose words have that size goes into this block."""
        return self.size_bytes + size_bytes < _BLOCK_BYTES_MAX and len(self.ids) < BLOCK_ENTRIES_MAX

    def add(self, entry_id: EntryId, fields: Fields) -> None:
        first = self.ids[0] if self.ids else entry_id
        self.ids.append(entry_id)
        self.fields.append(fields)
        self.live += 1
        self.size_bytes += _entry_bytes(first, entry_id, fields, named=fields[::2] != self.names)

    def place(self, entry_id: EntryId) -> int | None:
        """Return where an entry that is not deleted stands."""
        place = bisect_left(self.ids, entry_id)
        if place == len(self.ids) or self.ids[place] != entry_id or self.fields[place] is None:
            return None
        return place

    def remove(self, place: int) -> None:
        self.fields[place] = None
        self.live -= 1


def _block(entry_id: EntryId, fields: Fields) -> _Block:
    names = fields[::2]
    head = 2 * integer_bytes(1) + integer_bytes(len(names)) + sum(map(word_bytes, names)) + integer_bytes(0)
    return _Block(names, LISTPACK_BYTES + head)


def _entry_bytes(first: EntryId, entry_id: EntryId, fields: Fields, *, named: bool) -> int:
    """Return the size of an entry in a block that begins with ``first``; ``named``: with the names of its fields."""
    count = len(fields) // 2
    sequence = wrapped((entry_id & SEQUENCE_MAX) - (first & SEQUENCE_MAX))
    size = integer_bytes(0) + integer_bytes(wrapped((entry_id >> SEQUENCE_BITS) - (first >> SEQUENCE_BITS)))
    size += integer_bytes(sequence) + sum(map(word_bytes, fields if named else fields[1::2]))
    return size + (integer_bytes(count) + integer_bytes(2 * count + 4) if named else integer_bytes(count + 3))


@dataclass(frozen=True, kw_only=True)
class Trimming:
    """Which entries go: all but the newest ``length_max``, or those before ``id_min``.

    ``approximate``: whole blocks only. ``limit``: entries that one trim removes at most; 0 for any number.
    """

    length_max: int | None = None
    id_min: EntryId = 0
    approximate: bool = False
    limit: int = 0


@dataclass(slots=True)
class Stream:
    """Entries in order of their ids. It exists also when it has none, unlike a collection of another type."""

    last_id: EntryId = 0
    """The largest id that an entry ever had."""

    first_id: EntryId = 0
    """The id of the first entry; 0 without entries."""

    max_deleted_id: EntryId = 0
    """The largest id that XDEL removed."""

    added: int = 0
    """Entries that were ever added."""

    length: int = 0
    groups: dict[bytes, ConsumerGroup] = field(default_factory=dict)
    _blocks: list[_Block] = field(default_factory=list)
    _firsts: list[EntryId] = field(default_factory=list)
    """The id with which each block begins."""

    def __len__(self) -> int:
        return self.length

    @property
    def blocks(self) -> int:
        return len(self._blocks)

    def copy(self) -> "Stream":
        """Return a stream with the same entries and groups, which changes by itself."""
        groups = {name: group.copy() for name, group in self.groups.items()}
        blocks = [block.copy() for block in self._blocks]
        return replace(self, groups=groups, _blocks=blocks, _firsts=self._firsts.copy())

    def plain(self) -> tuple[Any, ...]:
        """Return the stream as literals, for ``of_plain``."""
        groups = [(name, group.plain()) for name, group in self.groups.items()]
        counts = self.last_id, self.first_id, self.max_deleted_id, self.added, self.length
        return counts, groups, [astuple(block) for block in self._blocks]

    @classmethod
    def of_plain(cls, plain: tuple[Any, ...]) -> "Stream":
        """Return the stream that ``plain`` described."""
        counts, groups, blocks = plain
        stream = cls(*counts)
        stream.groups = {name: ConsumerGroup.of_plain(group) for name, group in groups}
        stream._blocks = [_Block(*block) for block in blocks]
        stream._firsts = [block.ids[0] for block in stream._blocks]
        return stream

    def append(self, entry_id: EntryId, fields: Fields) -> None:
        """Add an entry whose id is larger than ``last_id``."""
        if not self._blocks or not self._blocks[-1].takes(sum(map(len, fields))):
            self._blocks.append(_block(entry_id, fields))
            self._firsts.append(entry_id)
        self._blocks[-1].add(entry_id, fields)
        self.length += 1
        self.added = wrapped(self.added + 1)
        self.last_id = entry_id
        if self.length == 1:
            self.first_id = entry_id

    def get(self, entry_id: EntryId) -> Fields | None:
        """Return the fields of an entry, None if it is not there."""
        number = bisect_right(self._firsts, entry_id) - 1
        if number < 0:
            return None
        block = self._blocks[number]
        place = block.place(entry_id)
        return None if place is None else block.fields[place]

    def between(self, low: EntryId, high: EntryId, *, count: int = 0, reverse: bool = False) -> list[Entry]:
        """Return entries with ids from ``low`` to ``high``, both included; ``count`` at most, if it is not 0.

        The largest id comes first if ``reverse``.
        """
        found: list[Entry] = []
        first, last = max(0, bisect_right(self._firsts, low) - 1), bisect_right(self._firsts, high)
        for number in range(first, last)[:: -1 if reverse else 1]:
            block = self._blocks[number]
            for place in range(bisect_left(block.ids, low), bisect_right(block.ids, high))[:: -1 if reverse else 1]:
                fields = block.fields[place]
                if fields is not None:
                    found.append((block.ids[place], fields))
                    if len(found) == count:
                        return found
        return found

    def last_live_id(self) -> EntryId:
        """Return the id of the last entry, 0 without entries."""
        last = self.between(0, ID_MAX, count=1, reverse=True)
        return last[0][0] if last else 0

    def remove(self, ids: Iterable[EntryId]) -> int:
        """Delete entries as XDEL does; return how many were there."""
        removed, first_too = 0, False
        for entry_id in ids:
            if self._remove_one(entry_id):
                removed += 1
                first_too = first_too or entry_id == self.first_id
                self.max_deleted_id = max(self.max_deleted_id, entry_id)
        if removed and (first_too or not self.length):
            self._find_first()
        return removed

    def _remove_one(self, entry_id: EntryId) -> bool:
        number = bisect_right(self._firsts, entry_id) - 1
        place = self._blocks[number].place(entry_id) if number >= 0 else None
        if place is None:
            return False
        block = self._blocks[number]
        if block.live == 1:
            del self._blocks[number], self._firsts[number]
        else:
            block.remove(place)
        self.length -= 1
        return True

    def _find_first(self) -> None:
        first = self.between(0, ID_MAX, count=1) if self.length else []
        self.first_id = first[0][0] if first else 0

    def trim(self, trimming: Trimming) -> int:
        """Remove entries from the beginning; return how many."""
        removed = whole = 0
        for block in self._blocks:
            if trimming.length_max is not None and self.length <= trimming.length_max:
                break
            if trimming.limit and removed + block.live > trimming.limit:
                break
            if not self._goes_whole(block, trimming):
                removed += 0 if trimming.approximate else self._trim_within(block, trimming)
                break
            whole += 1
            removed += block.live
            self.length -= block.live
        del self._blocks[:whole], self._firsts[:whole]
        if removed or not self.length:
            self._find_first()
        return removed

    def _goes_whole(self, block: _Block, trimming: Trimming) -> bool:
        if trimming.length_max is not None:
            return self.length - block.live >= trimming.length_max
        return block.ids[-1] < trimming.id_min

    def _trim_within(self, block: _Block, trimming: Trimming) -> int:
        removed = 0
        for place, entry_id in enumerate(block.ids):
            if self.length <= trimming.length_max if trimming.length_max is not None else entry_id >= trimming.id_min:
                break
            if block.fields[place] is not None:
                block.remove(place)
                self.length -= 1
                removed += 1
        return removed

    def entries_until(self, entry_id: EntryId) -> int | None:
        """Return how many entries were ever added up to ``entry_id``, None if that is not known."""
        if not self.added or (not self.length and entry_id <= self.last_id):
            return self.added
        if 0 < entry_id < self.max_deleted_id:
            return None
        if entry_id == self.last_id:
            return self.added
        if entry_id > self.last_id or (self.max_deleted_id and self.max_deleted_id >= self.first_id):
            return None
        if entry_id <= self.first_id:
            return wrapped(self.added - self.length + (entry_id == self.first_id))
        return None

    def is_counted(self, group: ConsumerGroup) -> bool:
        """Return whether ``entries_read`` of the group is known and nothing was deleted behind its last entry."""
        deleted_behind = bool(self.length and 0 < self.max_deleted_id >= group.last_id)
        return group.entries_read is not None and not deleted_behind

    def lag(self, group: ConsumerGroup) -> int | None:
        """Return how many entries ``group`` has not been given yet, None if that is not known."""
        if not self.added:
            return 0
        read = group.entries_read if self.is_counted(group) else self.entries_until(group.last_id)
        return None if read is None else wrapped(self.added - read)
