"""The random numbers of Lua scripts: the server replaces Lua's generator by its own, so that scripts are repeatable.

It is ``lrand48`` (the server's ``rand.c``). It begins with a fixed state when the server starts and goes on from script
to script.
"""

_MULTIPLIER = 0x5DEECE66D
_INCREMENT = 0xB
_MASK = (1 << 48) - 1
_FIRST_STATE = 0x1234ABCD330E
_LARGEST = (1 << 31) - 1


class Random48:
    def __init__(self) -> None:
        self._state = _FIRST_STATE

    def seed(self, seed: int) -> None:
        self._state = ((seed & 0xFFFFFFFF) << 16) | 0x330E

    def fraction(self) -> float:
        """The next number, from 0 up to but not 1."""
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & _MASK
        return (self._state >> 17) % _LARGEST / _LARGEST
