"""Ids of stream entries as commands write them."""

from zonelab.cluster.sim.redis.numbers import unsigned
from zonelab.cluster.sim.redis.registry import Args
from zonelab.cluster.sim.redis.reply import CommandError, fail
from zonelab.cluster.sim.redis.stream_value import ID_MAX, SEQUENCE_BITS, SEQUENCE_MAX, EntryId, Fields, id_text
from zonelab.engine.ports import Reply

NOT_AN_ID = "ERR Invalid stream ID specified as stream command argument"
_LENGTH_MAX = 127


def _within(raw: bytes) -> bytes:
    """Return ``raw`` up to a zero byte, where a text of C ends."""
    return raw.partition(b"\0")[0] if len(raw) <= _LENGTH_MAX else fail(NOT_AN_ID)


def strict_id(raw: bytes, *, missing: int = 0) -> EntryId:
    """Return an id of milliseconds and sequence number; ``missing`` stands for a sequence number that is left out."""
    milliseconds, dash, sequence = _within(raw).partition(b"-")
    upper = unsigned(milliseconds, NOT_AN_ID) << SEQUENCE_BITS
    return upper | (unsigned(sequence, NOT_AN_ID) if dash else missing)


def any_id(raw: bytes, *, missing: int = 0) -> EntryId:
    """Return an id, ``-`` and ``+`` being the smallest and the largest one."""
    written = _within(raw)
    if written == b"-":
        return 0
    return ID_MAX if written == b"+" else strict_id(raw, missing=missing)


def next_id_of(raw: bytes) -> EntryId | None:
    """Return the milliseconds of an id such as ``5-*``, whose sequence number the server chooses; None for others."""
    milliseconds, dash, sequence = _within(raw).partition(b"-")
    return unsigned(milliseconds, NOT_AN_ID) << SEQUENCE_BITS if dash and sequence == b"*" else None


def first_of_range(raw: bytes) -> EntryId:
    """Return the smallest id of a range that begins with ``raw``; ``(`` in front leaves that id out."""
    if raw[:1] != b"(" or len(raw) == 1:
        return any_id(raw)
    excluded = strict_id(raw[1:])
    return excluded + 1 if excluded < ID_MAX else fail("ERR invalid start ID for the interval")


def last_of_range(raw: bytes) -> EntryId:
    """Return the largest id of a range that ends with ``raw``."""
    if raw[:1] != b"(" or len(raw) == 1:
        return any_id(raw, missing=SEQUENCE_MAX)
    excluded = strict_id(raw[1:], missing=SEQUENCE_MAX)
    return excluded - 1 if excluded else fail("ERR invalid end ID for the interval")


def leading_ids(words: Args) -> list[EntryId]:
    """Return the ids with which ``words`` begin, up to the first word that is none."""
    found = []
    for word in words:
        try:
            found.append(strict_id(word))
        except CommandError:
            break
    return found


def entry_reply(entry_id: EntryId, fields: Fields | None) -> Reply:
    """Return an entry as all commands show it; ``fields`` None if it was deleted."""
    return [id_text(entry_id), None if fields is None else list(fields)]
