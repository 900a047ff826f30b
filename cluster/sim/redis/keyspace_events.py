"""Keyspace events: what a server publishes when keys change, to whoever subscribed to their channels.

Source: https://valkey.io/topics/notifications/ and what a real server publishes; the conformance tests compare both.
"""

from collections.abc import Callable

from zonelab.cluster.event_flags import KEYEVENT, KEYSPACE, NEW, EventFlags

_NAMES = {
    "g": "copy_to del expire persist rename_from rename_to restore",
    "$": "append incrby incrbyfloat pfadd set setbit setrange",
    "l": "linsert lpop lpush lrem lset ltrim rpop rpush sortstore",
    "s": "sadd sdiffstore sinterstore spop srem sunionstore",
    "h": "hdel hexpire hexpired hincrby hincrbyfloat hpersist hset",
    "z": "geosearchstore georadiusstore zadd zdiffstore zincr zinterstore zpopmax zpopmin zrangestore zrem "
    "zremrangebylex zremrangebyrank zremrangebyscore zunionstore",
    "x": "expired",
    "t": "xadd xdel xgroup-create xgroup-createconsumer xgroup-delconsumer xgroup-destroy xgroup-setid xsetid xtrim",
    NEW: "new",
}
EVENT_CLASSES = {event: letter for letter, events in _NAMES.items() for event in events.split()}
"""The class of each event."""


class KeyspaceEvents:
    """Publishes the events that ``flags`` name with ``publish``, which takes a channel and a message."""

    def __init__(self, flags: EventFlags, publish: Callable[[bytes, bytes], object]) -> None:
        self.flags = flags
        self._publish = publish
        self._wanted = {event: event.encode() for event, letter in EVENT_CLASSES.items() if letter in flags.classes}
        if not flags.channels:
            self._wanted = {}

    def wants(self, event: str) -> bool:
        """Return whether ``event`` is published."""
        return event in self._wanted

    def announce(self, event: str, key: bytes) -> None:
        """Publish that ``event`` happened to ``key``, first on the channel of the key."""
        name = self._wanted.get(event)
        if name is None:
            return
        if KEYSPACE in self.flags.channels:
            self._publish(b"__keyspace@0__:" + key, name)
        if KEYEVENT in self.flags.channels:
            self._publish(b"__keyevent@0__:" + name, key)
