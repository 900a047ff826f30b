"""Ordering keys of a drawn load, and what the messages of a key say."""

from collections.abc import Callable
from random import Random

from zonelab.scenarios.spec.ordered.sections import OrderingKeys


def keying(keys: OrderingKeys | None, payload_bytes: int, zone: str, random: Random) -> Callable[[str], dict[str, str]]:
    """Draws the key of the next message of a producer, given its id, and what it says if keys have states."""
    if keys is None:
        return lambda _name: {}
    owner = "" if keys.shared else f"{zone}-"
    if keys.states is None:
        return lambda _name: {"key": f"{owner}k{random.randrange(keys.count):04d}"}
    open_keys = _OpenKeys(f"{zone}-", keys.count, keys.states, random)

    def next_state(name: str) -> dict[str, str]:
        key, state = open_keys.next()
        return {"key": key, "payload": payload_of(name, size=payload_bytes, state=state)}

    return next_state


class _OpenKeys:
    """``count`` keys at a time, each in one of its states; one that has come to the last makes room for another."""

    def __init__(self, owner: str, count: int, states: tuple[str, ...], random: Random) -> None:
        self._owner, self._states, self._random = owner, states, random
        self._open: list[tuple[int, int]] = [(number, 0) for number in range(count)]
        self._next = count

    def next(self) -> tuple[str, str]:
        slot = self._random.randrange(len(self._open))
        number, state = self._open[slot]
        if state + 1 < len(self._states):
            self._open[slot] = number, state + 1
        else:
            self._open[slot] = self._next, 0
            self._next += 1
        return f"{self._owner}k{number:04d}", self._states[state]


def payload_of(name: str, *, size: int, state: str | None = None) -> str:
    """``size`` characters that begin with the state, if there is one; then as many more as that takes."""
    filled = (f"{name} " * (size // (len(name) + 1) + 1))[:size]
    return filled if state is None else f"{state} {filled}".rstrip()


def state_of(payload: str) -> str:
    return payload.partition(" ")[0]
