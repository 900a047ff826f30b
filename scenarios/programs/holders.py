"""Processes that hold a connection, found in /proc."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from zonelab.cluster.zone import Address

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


@dataclass(frozen=True, kw_only=True)
class Holders:
    """The processes that hold a connection, and the ends of all connections to its address that they hold."""

    pids: frozenset[int]
    peers: frozenset[str]


def holders_of(peer: str, *, of: Address, among: Iterable[int]) -> Holders:
    """Return who holds the connection from ``peer`` to ``of``; several processes may, after a fork.

    Args:
        peer: the client's end, as HOST:PORT.
        of: the address that it has connected to.
        among: processes that are looked at.
    """
    ends = dict(_ends(str(of)))
    sockets = {pid: set(_sockets(pid)) & ends.keys() for pid in among}
    pids = frozenset(pid for pid, held in sockets.items() if any(ends[inode] == peer for inode in held))
    return Holders(pids=pids, peers=frozenset(ends[inode] for pid in pids for inode in sockets[pid]))


def _ends(address: str) -> Iterator[tuple[str, str]]:
    """The clients' ends of connections to ``address``, by inode."""
    for table in _TABLES:
        with contextlib.suppress(OSError):
            for line in table.read_text().splitlines()[1:]:
                words = line.split()
                if _address(words[2]) == address:
                    yield words[9], _address(words[1])


def _address(text: str) -> str:
    """An address of the kernel's tables: 32-bit words in the machine's order, in hexadecimal digits, and the port."""
    words, _, port = text.partition(":")
    raw = b"".join(bytes.fromhex(words[at : at + 8])[::-1] for at in range(0, len(words), 8))
    if len(raw) == 4:
        return f"{IPv4Address(raw)}:{int(port, 16)}"
    host = IPv6Address(raw)
    return f"{host.ipv4_mapped or host}:{int(port, 16)}"


def _sockets(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for entry in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{entry}")
                if target.startswith("socket:["):
                    yield target[8:-1]
