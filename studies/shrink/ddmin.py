"""Delta debugging: the smallest part of a list that still shows something."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")


def minimal_part(items: Sequence[Item], shows: Callable[[tuple[Item, ...]], bool]) -> tuple[Item, ...]:
    """A part of ``items``, in their order, that ``shows`` and would not with any single item less.

    ``shows(items)`` is taken for granted. Algorithm ddmin of Zeller and Hildebrandt, "Simplifying and Isolating
    Failure-Inducing Input", IEEE Transactions on Software Engineering 28 (2), 2002, without its first, hopeful half:
    complements only, as a small part rarely shows by itself what a schedule shows.
    """
    kept = tuple(items)
    pieces = 2
    if kept and shows(()):
        return ()
    while len(kept) > 1:
        bounds = [len(kept) * number // pieces for number in range(pieces + 1)]
        for begin, end in pairwise(bounds):
            rest = kept[:begin] + kept[end:]
            if rest and shows(rest):
                kept, pieces = rest, max(pieces - 1, 2)
                break
        else:
            if pieces == len(kept):
                break
            pieces = min(len(kept), pieces * 2)
    return kept
