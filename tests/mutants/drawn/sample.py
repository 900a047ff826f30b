"""The sample: which sites a seed draws, in proportion to each package; and which are left out, with reasons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random

import yaml

from mutants.drawn.sites import Site
from mutants.mutant import CatalogueError

LEFT_OUT = Path(__file__).with_name("left_out.yaml")


class Reason(StrEnum):
    """Why a mutant is no fault that a test could notice, or should."""

    EQUAL = "equal"
    CAP = "cap"
    FORECAST = "forecast"
    CACHE = "cache"


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """``place``: ``MODULE`` or ``MODULE:SCOPE``; ``line``: a part of the changed line, or empty for all of the place.

    ``operators``: those that are left out there, or none for all of them.
    """

    place: str
    why: Reason
    note: str
    line: str = ""
    operators: Sequence[str] = ()

    def covers(self, site: Site) -> bool:
        module, _, scope = self.place.partition(":")
        inside = not scope or site.scope == scope or site.scope.startswith(f"{scope}.")
        return (
            site.mutant.module == module
            and inside
            and self.line in site.mutant.old
            and (not self.operators or site.operator in self.operators)
        )


def left_out(path: Path = LEFT_OUT) -> list[LeftOut]:
    """The listed places. Raises ``CatalogueError`` if an entry has no note."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    found = [LeftOut(**{**entry, "why": Reason(entry["why"])}) for entry in entries]
    if missing := [one.place for one in found if not one.note.strip()]:
        raise CatalogueError(f"{path.name}: {', '.join(missing)} needs a note")
    return found


def drawn(sites: Sequence[Site], *, seed: int, count: int) -> list[Site]:
    """``count`` sites, each package in proportion to its places, in an order that the seed decides.

    A place is a line with an operator: a table of a hundred elements is drawn no more often than a sum.
    """
    by_package: dict[str, dict[tuple[str, int, str], list[Site]]] = {}
    for site in sites:
        path, line, operator, _ = site.mutant.id.split(":")
        by_package.setdefault(site.package, {}).setdefault((path, int(line), operator), []).append(site)
    random = Random(seed)
    chosen = []
    for package, number in _shares({name: len(places) for name, places in by_package.items()}, count).items():
        places = by_package[package]
        chosen += [random.choice(places[place]) for place in random.sample(sorted(places), number)]
    random.shuffle(chosen)
    return chosen


def _shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """``count`` divided in proportion to ``sizes``, the largest remainders rounded up."""
    total = sum(sizes.values())
    count = min(count, total)
    shares = {name: count * size // total for name, size in sorted(sizes.items())}
    remainders = sorted(shares, key=lambda name: (-(count * sizes[name] % total), name))
    for name in remainders[: count - sum(shares.values())]:
        shares[name] += 1
    return shares
