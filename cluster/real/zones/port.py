"""A TCP port of 127.0.0.1 that stays a zone's own for as long as the zone exists, also while its server is dead.

The reservation is a socket that is bound and never listens. Linux lets a server that sets ``SO_REUSEADDR`` (Redis,
Valkey and Docker's proxy do) listen beside it, refuses the port to programs that ask for any free one, and answers
connections with a reset while nobody listens (socket(7), ip(7)).
"""

import errno
import random
import socket
from pathlib import Path

from zonelab.cluster.zone import ZoneError

HOST = "127.0.0.1"
_ATTEMPTS = 200


class PortReservation:
    """Reserves ``port``, or a free one below the range that the kernel gives to outgoing connections.

    Below that range, because a client that reconnects to a dead server's port could otherwise be given the very same
    port as its own and connect to itself.
    """

    def __init__(self, port: int | None) -> None:
        self._socket = _reserve_any() if port is None else _reserve(port)

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def release(self) -> None:
        self._socket.close()


def _reserve(port: int) -> socket.socket:
    reserved = socket.socket()
    # Connections of an earlier server in TIME_WAIT must not count as "taken"; a listening socket still does.
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        reserved.bind((HOST, port))
    except OSError as error:
        reserved.close()
        raise ZoneError(f"port {port} of {HOST} cannot be used: {_reason(error)}") from error
    return reserved


def _reason(error: OSError) -> str:
    return "another program listens on it" if error.errno == errno.EADDRINUSE else str(error.strerror)


def _reserve_any() -> socket.socket:
    candidates = _candidates()
    for _ in range(_ATTEMPTS):
        reserved = socket.socket()
        try:
            # Without SO_REUSEADDR: this fails beside any other socket, so two labs never reserve the same port.
            reserved.bind((HOST, random.SystemRandom().choice(candidates)))
        except OSError:
            reserved.close()
            continue
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return reserved
    raise ZoneError(f"no free port of {HOST} found between {candidates.start} and {candidates.stop - 1}")


def _candidates() -> range:
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    below = range(max(1024, first_outgoing - 16_384), first_outgoing)
    return below if len(below) >= 1024 else range(10_000, 61_000)
