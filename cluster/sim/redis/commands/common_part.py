"""LCS: the longest common subsequence of two strings."""

from zonelab.cluster.sim.redis.numbers import integer
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, fail
from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply

_FLAGS = frozenset((b"IDX", b"LEN", b"WITHMATCHLEN"))
_TABLE_MAX = 512 * 1024 * 1024 // 4
"""Entries of the table that the server is willing to make."""

_Range = tuple[int, int, int]
"""The begin of a common part in one string and in the other, and its length."""


@command("lcs", -3)
def lcs(store: Database, args: Args) -> Reply:
    first, second = (store.find(key) for key in args[:2])
    if not isinstance(first, bytes | None) or not isinstance(second, bytes | None):
        fail("ERR The specified keys must contain string values")
    flags: dict[bytes, None] = {}
    least = 0
    words = iter(args[2:])
    for word in words:
        option = word.upper()
        if option in _FLAGS:
            flags[option] = None
        elif option == b"MINMATCHLEN" and (length := next(words, None)) is not None:
            least = max(0, integer(length))
        else:
            fail(SYNTAX)
    if b"LEN" in flags and b"IDX" in flags:
        fail("ERR If you want both the length and indexes, please just use IDX.")
    return _answer(first or b"", second or b"", flags, least)


def _answer(first: bytes, second: bytes, flags: dict[bytes, None], least: int) -> Reply:
    if (len(first) + 1) * (len(second) + 1) > _TABLE_MAX:
        fail("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
    table = _table(first, second)
    length = table[-1][-1]
    if b"LEN" in flags:
        return length
    common, ranges = _walk(first, second, table)
    if b"IDX" not in flags:
        return common
    matches: list[Reply] = []
    for a, b, size in ranges:
        if size >= least:
            found: list[Reply] = [[a, a + size - 1], [b, b + size - 1]]
            matches.append([*found, size] if b"WITHMATCHLEN" in flags else found)
    return [b"matches", matches, b"len", length]


def _table(first: bytes, second: bytes) -> list[list[int]]:
    """Return the lengths for the first i and j bytes of the two."""
    table = [[0] * (len(second) + 1)]
    for byte in first:
        above, row = table[-1], [0]
        for place, other in enumerate(second):
            row.append(above[place] + 1 if byte == other else max(above[place + 1], row[place]))
        table.append(row)
    return table


def _walk(first: bytes, second: bytes, table: list[list[int]]) -> tuple[bytes, list[_Range]]:
    """Return the subsequence and its ranges, the last one first, as the server goes back through the table."""
    i, j = len(first), len(second)
    common = bytearray()
    ranges: list[_Range] = []
    open_range: _Range | None = None
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            common.append(first[i])
            if open_range is not None and open_range[:2] == (i + 1, j + 1):
                open_range = (i, j, open_range[2] + 1)
            else:
                if open_range is not None:
                    ranges.append(open_range)
                open_range = (i, j, 1)
        elif table[i - 1][j] > table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    if open_range is not None:
        ranges.append(open_range)
    return bytes(reversed(common)), ranges
