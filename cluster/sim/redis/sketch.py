"""HyperLogLog sketches, byte for byte as the server keeps them: 16,384 registers, sparse or dense.

Source: ``hyperloglog.c`` of Valkey 9 (https://github.com/valkey-io/valkey); the estimate is that of O. Ertl, *New
cardinality estimation algorithms for HyperLogLog sketches*, 2017.
"""

import math

import numpy as np
import numpy.typing as npt

from zonelab.cluster.sim.redis.reply import fail

MAGIC = b"HYLL"
HEADER_BYTES = 16
_REGISTERS = 1 << 14
_INDEX_BITS = 14
_RANK_MAX = 50
DENSE_BYTES = HEADER_BYTES + _REGISTERS * 6 // 8
_SPARSE_BYTES_MAX = 3000
_SPARSE_VALUE_MAX = 32
_SPARSE_RUN_MAX = 4
_SHORT_ZEROS_MAX = 64
_NOT_CACHED = 1 << 63
_ALPHA = 0.721347520444481703680
_MASK = (1 << 64) - 1
_MULTIPLIER = 0xC6A4A7935BD1E995
_SEED = 0xADC83B19
_SCANNED_OPCODES = 5
_CORRUPTED = "INVALIDOBJ Corrupted HLL object detected"

Registers = npt.NDArray[np.uint8]

_Run = tuple[int, int]
"""A value, and the number of registers in a row that have it."""


class Sketch:
    """One sketch. ``cached``: the estimate that is written in it, None if registers have changed since."""

    def __init__(self, value: bytes) -> None:
        self._unused = value[len(MAGIC) + 1 : 8]
        card = int.from_bytes(value[8:HEADER_BYTES], "little")
        self.cached = None if card & _NOT_CACHED else card
        self._uncached = card
        self.dense = value[len(MAGIC)] == 0
        self._body = bytearray(value[HEADER_BYTES:])

    def written(self) -> bytes:
        """Return the sketch as a string."""
        card = self._uncached | _NOT_CACHED if self.cached is None else self.cached
        head = MAGIC + (b"\0" if self.dense else b"\1") + self._unused + card.to_bytes(8, "little")
        return head + bytes(self._body)

    def registers(self) -> Registers:
        """Return the value of each register. Raises ``CommandError`` if runs do not cover them."""
        if self.dense:
            low, middle, high = np.frombuffer(bytes(self._body), np.uint8).reshape(-1, 3).T
            four = (low & 63, low >> 6 | (middle & 15) << 2, middle >> 4 | (high & 3) << 4, high >> 2)
            return np.stack(four, axis=1).reshape(-1)
        found = np.zeros(_REGISTERS, np.uint8)
        at = first = 0
        while at < len(self._body):
            (value, length), size = self._run(at)
            if first + length > _REGISTERS:
                fail(_CORRUPTED)
            if value:
                found[first : first + length] = value
            at, first = at + size, first + length
        return found if first == _REGISTERS else fail(_CORRUPTED)

    def add(self, element: bytes) -> bool:
        """Count ``element``; true if a register has changed."""
        hashed = _hash(element)
        register, rest = hashed & (_REGISTERS - 1), hashed >> _INDEX_BITS | 1 << _RANK_MAX
        return self.raise_to(register, (rest & -rest).bit_length())

    def raise_to(self, register: int, value: int) -> bool:
        """Give a register at least this value; true if it had less."""
        raised = self._raise_dense(register, value) if self.dense else self._raise_sparse(register, value)
        if raised:
            self.cached = None
        return raised

    def make_dense(self) -> None:
        """Keep each register on its own from now on."""
        if self.dense:
            return
        a, b, c, d = self.registers().reshape(-1, 4).T
        three = (a | b << 6, b >> 2 | c << 4, c >> 4 | d << 2)
        self._body = bytearray(np.stack(three, axis=1).tobytes())
        self.dense = True

    def _raise_dense(self, register: int, value: int) -> bool:
        at, shift = register * 6 // 8, register * 6 % 8
        two = int.from_bytes(self._body[at : at + 2], "little")
        if two >> shift & 63 >= value:
            return False
        changed = two & ~(63 << shift) | value << shift
        size = len(self._body[at : at + 2])
        self._body[at : at + size] = changed.to_bytes(size, "little")
        return True

    def _run(self, at: int) -> tuple[_Run, int]:
        """Return the run that begins at a byte, and the number of its bytes."""
        byte = self._body[at]
        if byte & 0x80:
            return ((byte >> 2 & 31) + 1, (byte & 3) + 1), 1
        if byte & 0x40:
            second = self._body[at + 1] if at + 1 < len(self._body) else 0
            return (0, ((byte & 63) << 8 | second) + 1), 2
        return (0, (byte & 63) + 1), 1

    def _raise_sparse(self, register: int, value: int) -> bool:
        if value > _SPARSE_VALUE_MAX:
            return self._raise_promoted(register, value)
        first, at, before = 0, 0, 0
        while at < len(self._body):
            (old, length), size = self._run(at)
            if register < first + length:
                break
            before, at, first = at, at + size, first + length
        else:
            fail(_CORRUPTED)
        if old >= value:
            return False
        left, right = register - first, first + length - 1 - register
        changed = _written_run(old, left) + _written_run(value, 1) + _written_run(old, right)
        growth = len(changed) - size
        if growth > 0 and HEADER_BYTES + len(self._body) + growth > _SPARSE_BYTES_MAX:
            return self._raise_promoted(register, value)
        self._body[at : at + size] = changed
        self._merge_runs(before)
        return True

    def _raise_promoted(self, register: int, value: int) -> bool:
        self.make_dense()
        return self._raise_dense(register, value)

    def _merge_runs(self, at: int) -> None:
        """Join runs of equal values, from a byte on, as far as the server looks."""
        for _ in range(_SCANNED_OPCODES):
            if at >= len(self._body):
                return
            (value, length), size = self._run(at)
            following = self._run(at + 1)[0] if value and at + 1 < len(self._body) else (0, 0)
            if value and following[0] == value and length + following[1] <= _SPARSE_RUN_MAX:
                self._body[at : at + 2] = _written_run(value, length + following[1])
            else:
                at += size


def _written_run(value: int, length: int) -> bytes:
    if not length:
        return b""
    if value:
        return bytes((0x80 | value - 1 << 2 | length - 1,))
    if length > _SHORT_ZEROS_MAX:
        return (0x4000 | length - 1).to_bytes(2, "big")
    return bytes((length - 1,))


def new_sketch() -> Sketch:
    """Return a sketch of no element."""
    return Sketch(MAGIC + b"\1" + bytes(11) + _written_run(0, _REGISTERS))


def estimate(registers: Registers) -> int:
    """Return how many different elements registers tell of."""
    counts = np.bincount(registers, minlength=_RANK_MAX + 2)[: _RANK_MAX + 2].tolist()
    size = float(_REGISTERS)
    z = size * _tau((size - counts[-1]) / size)
    for count in reversed(counts[1:-1]):
        z = (z + count) * 0.5
    z += size * _sigma(counts[0] / size)
    return math.floor(_ALPHA * size * size / z + 0.5)


def _tau(x: float) -> float:
    if x in (0.0, 1.0):
        return 0.0
    y, z, before = 1.0, 1 - x, math.inf
    while before != z:
        x, before, y = math.sqrt(x), z, y * 0.5
        z -= (1 - x) ** 2 * y
    return z / 3


def _sigma(x: float) -> float:
    if x == 1.0:
        return math.inf
    y, z, before = 1.0, x, math.inf
    while before != z:
        x, before = x * x, z
        z, y = z + x * y, y + y
    return z


def _hash(data: bytes) -> int:
    """Return MurmurHash64A of ``data``, by A. Appleby."""
    hashed = _SEED ^ len(data) * _MULTIPLIER & _MASK
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at : at + 8], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 47) * _MULTIPLIER & _MASK
        hashed = (hashed ^ word) * _MULTIPLIER & _MASK
    if whole < len(data):
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    hashed = (hashed ^ hashed >> 47) * _MULTIPLIER & _MASK
    return hashed ^ hashed >> 47
