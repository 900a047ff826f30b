"""Keys that somebody watches: clients with WATCH, and programs that wait for data."""

from collections.abc import Callable, Iterable, Sequence

from zonelab.cluster.sim.redis.store import Database

Heard = Callable[[bytes], None]
"""Called with a key that a command has changed just now."""


class KeyObservers:
    """Observers of changes, by key. Without any, nothing has to find out which keys a command changes."""

    def __init__(self) -> None:
        self._by_key: dict[bytes, dict[Heard, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def add(self, keys: Iterable[bytes], heard: Heard) -> None:
        for key in keys:
            self._by_key.setdefault(key, {})[heard] = None

    def remove(self, keys: Iterable[bytes], heard: Heard) -> None:
        for key in keys:
            observers = self._by_key.get(key, {})
            observers.pop(heard, None)
            if not observers:
                self._by_key.pop(key, None)

    def observed(self, keys: Iterable[bytes]) -> list[bytes]:
        """Return those of ``keys`` that somebody watches."""
        return [key for key in keys if key in self._by_key]

    def touch(self, key: bytes) -> None:
        for heard in list(self._by_key.get(key, ())):
            heard(key)

    def all(self) -> list[bytes]:
        """Return every key that somebody watches."""
        return list(self._by_key)


class Watch:
    """The keys that one client's connection watches at one server."""

    def __init__(self, store: Database, observers: KeyObservers) -> None:
        self._store = store
        self._observers = observers
        self._present: dict[bytes, bool] = {}
        self._changed = False

    def add(self, keys: Sequence[bytes]) -> None:
        """Watch ``keys``, too; one that is watched already keeps its beginning."""
        new = [key for key in dict.fromkeys(keys) if key not in self._present]
        self._present |= {key: self._store.find(key) is not None for key in new}
        self._observers.add(new, self._touched)

    def intact(self) -> bool:
        """Return whether no key has changed, or reached the end of its life, since it is watched."""
        ended = any(present and self._store.find(key) is None for key, present in self._present.items())
        return not (self._changed or ended)

    def end(self) -> None:
        self._observers.remove(self._present, self._touched)
        self._present.clear()

    def _touched(self, key: bytes) -> None:
        self._changed = True
