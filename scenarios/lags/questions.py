"""The commands that ``zonelab measure-lag`` sends, and the addresses of the servers that it sends them to."""

from enum import StrEnum

from zonelab.cluster.zone import Address
from zonelab.scenarios.errors import NotAccepted

KEY = "zonelab:measure-lag"
"""Key of the reads; nobody writes it."""


class Command(StrEnum):
    PING = "PING"
    GET = "GET"

    @property
    def packed(self) -> bytes:
        words = [self.value] if self is Command.PING else [self.value, KEY]
        return b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%s\r\n" % (len(one), one.encode()) for one in words)])


def parse_address(text: str) -> Address:
    """``HOST:PORT``. Raises ``NotAccepted``."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise NotAccepted(f"address {text!r}: accepted: HOST:PORT with a port of 1 to 65535, e.g. 127.0.0.1:7401")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))
