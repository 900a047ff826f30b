"""Times at which blocked commands read their keys at the level, as the own zone shows nothing there.

A zone that missed writes shows nothing of them for ever, while a quorum of the others has them. To ask the level as
often as the own zone would cost every zone a read each time. So all that wait on a key at one port share its looks: a
key has one in ``AGAIN_NS`` at most, all keys together have one in ``APART_NS``, and the key that has been due longest
is next. What a look has seen counts until somebody tried to take it and got nothing.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Generic, Protocol, TypeVar

from zonelab.engine.ports import Runtime, Timer

AGAIN_NS = 2_000_000_000
APART_NS = 10_000_000
KEYS_MAX = 100_000
"""At ``APART_NS`` a round of these takes more than a quarter of an hour."""

K = TypeVar("K")
K_contra = TypeVar("K_contra", contravariant=True)


class Ask(Protocol[K_contra]):
    """Asks the level whether there is something at a key. While it has no answer the key has no other look."""

    def __call__(self, key: K_contra, answered: Callable[[bool], None], /) -> None: ...


class _WaitedKey:
    """A key that is waited on, or was looked at so recently that it has no other look yet."""

    __slots__ = ("asking", "due_ns", "seen", "waiting")

    def __init__(self, due_ns: int) -> None:
        self.waiting = 0
        self.due_ns = due_ns
        self.asking = False
        self.seen = False


class LevelLooks(Generic[K]):
    """The looks of one port. A key distinguishes those that cannot share a look."""

    def __init__(self, runtime: Runtime, ask: Ask[K]) -> None:
        self._runtime = runtime
        self._ask = ask
        self._new: dict[K, _WaitedKey] = {}
        """Keys without a look so far, and below those with one; each in the order in which they are due."""
        self._again: dict[K, _WaitedKey] = {}
        self._free_ns = 0
        self._timer: Timer | None = None
        self._timer_ns = 0

    def wait(self, keys: Iterable[K]) -> bool:
        """Count one more that waits on ``keys`` until ``leave``. False if there are too many: then none is taken."""
        found = {key: self._find(key) for key in keys}
        missing = [key for key, waited in found.items() if waited is None]
        if len(self._new) + len(self._again) + len(missing) > KEYS_MAX:
            return False
        now_ns = self._runtime.now_ns()
        for key, waited in found.items():
            if waited is None:
                waited = self._new[key] = _WaitedKey(now_ns)
            waited.waiting += 1
        self._set_timer()
        return True

    def leave(self, keys: Iterable[K]) -> None:
        """Undo one ``wait``. A key on which nobody waits is forgotten when it could have its next look."""
        now_ns = self._runtime.now_ns()
        for key in dict.fromkeys(keys):
            waited = self._find(key)
            assert waited is not None, key
            waited.waiting -= 1
            if not waited.waiting and waited.due_ns <= now_ns:
                self._forget(key)

    def seen(self, key: K) -> bool:
        """True if the level has something at ``key``, by its last look."""
        waited = self._find(key)
        return waited is not None and waited.seen

    def taken(self, key: K) -> None:
        """Somebody tried to take what was seen, and there was nothing."""
        if (waited := self._find(key)) is not None:
            waited.seen = False

    def _find(self, key: K) -> _WaitedKey | None:
        return self._again.get(key) or self._new.get(key)

    def _forget(self, key: K) -> None:
        self._new.pop(key, None)
        self._again.pop(key, None)

    def _next(self) -> K | None:
        """The key that is due first; keys that nobody waits on are forgotten on the way."""
        now_ns = self._runtime.now_ns()
        while self._again:
            key, waited = next(iter(self._again.items()))
            if waited.waiting or waited.due_ns > now_ns:
                new = next(iter(self._new), None)
                return key if new is None or waited.due_ns <= self._new[new].due_ns else new
            self._forget(key)
        return next(iter(self._new), None)

    def _set_timer(self) -> None:
        if (key := self._next()) is None:
            return
        waited = self._find(key)
        assert waited is not None
        at_ns = max(waited.due_ns, self._free_ns)
        if self._timer is not None:
            if self._timer_ns <= at_ns:
                return
            self._timer.cancel()
        self._timer_ns = at_ns
        self._timer = self._runtime.call_later(max(0, at_ns - self._runtime.now_ns()), self._look)

    def _look(self) -> None:
        self._timer = None
        try:
            self._look_at_due()
        finally:
            self._set_timer()

    def _look_at_due(self) -> None:
        now_ns = self._runtime.now_ns()
        while (key := self._next()) is not None:
            waited = self._find(key)
            assert waited is not None
            if waited.due_ns > now_ns:
                break
            self._forget(key)
            waited.due_ns = now_ns + AGAIN_NS
            self._again[key] = waited
            if not (waited.seen or waited.asking):
                waited.asking = True
                self._free_ns = now_ns + APART_NS
                try:
                    self._ask(key, partial(self._answered, waited))
                except BaseException:
                    waited.asking = False
                    raise
                break

    def _answered(self, waited: _WaitedKey, found: bool, /) -> None:  # noqa: FBT001 (an answer)
        waited.asking = False
        waited.seen = found
