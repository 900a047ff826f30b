"""Channels of one server: who hears what is published there, in the order in which the server sends it."""

from collections.abc import Callable
from enum import Enum

from zonelab.cluster.glob import matches

Deliver = Callable[[list[bytes]], None]
"""Sends a subscriber a message, in the form in which its connection gets it."""


class ChannelKind(Enum):
    """Names of a subscriber: channels, patterns of channels, or channels of shards."""

    CHANNEL = b"message"
    PATTERN = b"pmessage"
    SHARD = b"smessage"


class Channels:
    """Subscribers by kind and name."""

    def __init__(self) -> None:
        self._subscribers: dict[ChannelKind, dict[bytes, dict[Deliver, None]]] = {kind: {} for kind in ChannelKind}

    def subscribe(self, kind: ChannelKind, name: bytes, deliver: Deliver) -> None:
        self._subscribers[kind].setdefault(name, {})[deliver] = None

    def unsubscribe(self, kind: ChannelKind, name: bytes, deliver: Deliver) -> None:
        subscribers = self._subscribers[kind].get(name, {})
        subscribers.pop(deliver, None)
        if not subscribers:
            self._subscribers[kind].pop(name, None)

    def publish(self, channel: bytes, message: bytes) -> int:
        """Send ``message`` to the subscribers of ``channel`` and of patterns that match; returns how many."""
        count = self._deliver(ChannelKind.CHANNEL, channel, [b"message", channel, message])
        for pattern in list(self._subscribers[ChannelKind.PATTERN]):
            if matches(pattern, channel):
                count += self._deliver(ChannelKind.PATTERN, pattern, [b"pmessage", pattern, channel, message])
        return count

    def publish_to_shard(self, channel: bytes, message: bytes) -> int:
        return self._deliver(ChannelKind.SHARD, channel, [b"smessage", channel, message])

    def names(self, kind: ChannelKind) -> list[bytes]:
        return list(self._subscribers[kind])

    def count(self, kind: ChannelKind, name: bytes) -> int:
        return len(self._subscribers[kind].get(name, ()))

    def _deliver(self, kind: ChannelKind, name: bytes, message: list[bytes]) -> int:
        subscribers = list(self._subscribers[kind].get(name, ()))
        for deliver in subscribers:
            deliver(message)
        return len(subscribers)


_KINDS = {b"P": ChannelKind.PATTERN, b"S": ChannelKind.SHARD, b"": ChannelKind.CHANNEL}


class Subscriptions:
    """Names that one connection is subscribed to; what is published there goes to ``deliver``."""

    def __init__(self, channels: Channels, deliver: Deliver) -> None:
        self._channels = channels
        self._deliver = deliver
        self._names: dict[ChannelKind, dict[bytes, None]] = {kind: {} for kind in ChannelKind}

    def carry_out(self, words: list[bytes]) -> list[list[bytes | int | None]]:
        """Carry out a command of the subscribe family; returns its confirmations."""
        name = words[0].upper()
        leaves = name.endswith(b"UNSUBSCRIBE")
        kind = _KINDS[name.removesuffix(b"UNSUBSCRIBE" if leaves else b"SUBSCRIBE")]
        held = self._names[kind]
        confirmations: list[list[bytes | int | None]] = []
        for channel in words[1:] or list(held):
            if leaves:
                held.pop(channel, None)
                self._channels.unsubscribe(kind, channel, self._deliver)
            else:
                held[channel] = None
                self._channels.subscribe(kind, channel, self._deliver)
            confirmations.append([name.lower(), channel, self._count(kind)])
        return confirmations or [[name.lower(), None, self._count(kind)]]

    def end(self) -> None:
        for kind, held in self._names.items():
            for channel in held:
                self._channels.unsubscribe(kind, channel, self._deliver)
            held.clear()

    def _count(self, kind: ChannelKind) -> int:
        """Names that count together: those of shards, or all others."""
        if kind is ChannelKind.SHARD:
            return len(self._names[kind])
        return len(self._names[ChannelKind.CHANNEL]) + len(self._names[ChannelKind.PATTERN])
