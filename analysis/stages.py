"""Stages of a long piece of work, as it tells whoever waits for it how far it is."""

from collections.abc import Callable, Sequence
from typing import TypeVar

_Made = TypeVar("_Made")

Stage = Callable[[str, float, float], None]
"""Called with the name of a part of the work, how much of it is done, and how much there is to do."""


def unheard(name: str, done: float, total: float) -> None:
    """Tell nobody."""


def made_in_turn(stage: Stage, name: str, makers: Sequence[Callable[[], _Made]]) -> list[_Made]:
    """Return what each of ``makers`` makes; ``stage`` hears of it before the first and after each."""
    made: list[_Made] = []
    stage(name, 0, len(makers))
    for make in makers:
        made.append(make())
        stage(name, len(made), len(makers))
    return made
