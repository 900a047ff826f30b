"""Judgement: validity, offenders, and the rule by which counts of classes become a verdict."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from zonelab.analysis.message_classes import DESCRIPTIONS, MessageClass

Validity = Literal[True, False, "unknown"]

FIRST_OFFENDERS = 20
"""Offenders of a class that the verdict lists at most; ``offenders.parquet`` has all of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offender:
    """One case of a class.

    ``index``: the history event that shows it (for a missing delivery, the push); ``None`` if it was seen in an end
    state. ``delivery``: the pop concerned. ``zone``: set for classes that are counted per zone.
    """

    message_id: str
    index: int | None = None
    delivery: int | None = None
    zone: str | None = None
    detail: str = ""


def judge(
    *, counts: Mapping[str, int], forbid: Collection[str], doubts: Collection[str]
) -> tuple[Validity, tuple[str, ...]]:
    """Return False if a forbidden class occurred, else "unknown" if there is a doubt, else True; and why, in words.

    The order true < unknown < false is Jepsen's: proof of a violation is worth more than a gap in the evidence.
    """
    broken = tuple(
        f"{counts[name]} {name.replace('_', ' ')}: {DESCRIPTIONS[MessageClass(name)]}"
        for name in MessageClass
        if name in forbid and counts[name]
    )
    if broken:
        return False, broken + tuple(doubts)
    if doubts:
        return "unknown", tuple(doubts)
    return True, ()
