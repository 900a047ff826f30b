"""Hashes that turn a key into a token of 32 bits, by the names that Dynomite's configuration has for them.

Sources: ``hashkit`` of Netflix Dynomite at 2046b05, which has them from libmemcached; MurmurHash3 is Austin Appleby's
(x86, 32 bits, seed 0). ``murmur`` is Dynomite's default.
"""

import zlib
from collections.abc import Callable
from enum import StrEnum
from hashlib import md5
from struct import unpack

import mmh3

_MASK = 0xFFFFFFFF
_MASK_64 = 0xFFFFFFFFFFFFFFFF
TOKENS = 1 << 32
"""Number of different tokens: 0 to 4294967295."""


class KeyHash(StrEnum):
    """``hash`` of the topology. Dynomite's other names (hsieh, jenkins, crc16, crc32, …) are not offered."""

    MURMUR = "murmur"
    MURMUR3 = "murmur3"
    ONE_AT_A_TIME = "one_at_a_time"
    FNV1_32 = "fnv1_32"
    FNV1A_32 = "fnv1a_32"
    FNV1_64 = "fnv1_64"
    FNV1A_64 = "fnv1a_64"
    CRC32A = "crc32a"
    MD5 = "md5"


def murmur(key: bytes) -> int:
    """MurmurHash2 of 32 bits whose seed is the length times 0xdeadbeef."""
    factor, length = 0x5BD1E995, len(key)
    value = (0xDEADBEEF * length ^ length) & _MASK
    whole = length & ~3
    for word in unpack(f"<{length >> 2}I", key[:whole]):
        block = word * factor & _MASK
        block = (block ^ block >> 24) * factor & _MASK
        value = value * factor & _MASK ^ block
    if length & 3:
        value = (value ^ int.from_bytes(key[whole:], "little")) * factor & _MASK
    value = (value ^ value >> 13) * factor & _MASK
    return value ^ value >> 15


def murmur3(key: bytes) -> int:
    return mmh3.hash(key, signed=False)


def one_at_a_time(key: bytes) -> int:
    """Bob Jenkins' hash of this name, over bytes with a sign as in ``hashkit/dyn_one_at_a_time.c``."""
    value = 0
    for byte in unpack(f"{len(key)}b", key):
        value = (value + byte) * 1025 & _MASK
        value ^= value >> 6
    value = value * 9 & _MASK
    value ^= value >> 11
    return value * 32769 & _MASK


def fnv1_32(key: bytes) -> int:
    value = 2166136261
    for byte in key:
        value = (value * 16777619 & _MASK) ^ byte
    return value


def fnv1a_32(key: bytes) -> int:
    value = 2166136261
    for byte in key:
        value = (value ^ byte) * 16777619 & _MASK
    return value


def fnv1_64(key: bytes) -> int:
    """The lower half of the 64 bits."""
    value = 0xCBF29CE484222325
    for byte in key:
        value = (value * 0x100000001B3 & _MASK_64) ^ byte
    return value & _MASK


def fnv1a_64(key: bytes) -> int:
    """Return the hash of libmemcached, whose variant keeps 32 bits from the beginning."""
    value = 0xCBF29CE484222325 & _MASK
    for byte in key:
        value = (value ^ byte) * (0x100000001B3 & _MASK) & _MASK
    return value


def _md5(key: bytes) -> int:
    return int.from_bytes(md5(key, usedforsecurity=False).digest()[:4], "little")


_FUNCTIONS: dict[KeyHash, Callable[[bytes], int]] = {
    KeyHash.MURMUR: murmur,
    KeyHash.MURMUR3: murmur3,
    KeyHash.ONE_AT_A_TIME: one_at_a_time,
    KeyHash.FNV1_32: fnv1_32,
    KeyHash.FNV1A_32: fnv1a_32,
    KeyHash.FNV1_64: fnv1_64,
    KeyHash.FNV1A_64: fnv1a_64,
    KeyHash.CRC32A: zlib.crc32,
    KeyHash.MD5: _md5,
}


def hash_function(name: KeyHash) -> Callable[[bytes], int]:
    return _FUNCTIONS[name]


def hashed_part(key: bytes, tag: bytes | None) -> bytes:
    """Return what of ``key`` is hashed: from the first opening to the next closing character of ``tag``, if both are
    there.

    ``tag`` has two characters, such as ``{}``. With nothing between them nothing is hashed: measured on Dynomite at
    2046b05, November 2026, where all such keys have one owner, under ``murmur`` the first node.
    """
    if tag is None:
        return key
    begin = key.find(tag[:1])
    if begin < 0:
        return key
    end = key.find(tag[1:], begin + 1)
    return key[begin + 1 : end] if end > begin else key
