"""Stages of a long piece of work, as it tells whoever waits for it how far it is."""

from collections.abc import Callable

Stage = Callable[[str, float, float], None]
"""Called with the name of a part of the work, how much of it is done, and how much there is to do."""


def unheard(name: str, done: float, total: float) -> None:
    """Tell nobody."""
