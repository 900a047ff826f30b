"""The score of a drawn sample: how many of what, package by package, as it is kept and as it is shown."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scipy.stats import binomtest

from mutants.drawn.trial import Fate, Found

SCORE = Path(__file__).with_name("score.json")


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnScore:
    """``listed``: of ``drawn``, those that are listed as no faults. ``fates``: by package and fate, the mutants judged.

    ``commit``: of the product; ``date``: when it was judged. ``note``: what else a reader has to know of the sample.
    """

    seed: int
    drawn: int
    listed: int
    commit: str
    date: str
    fates: Mapping[str, Mapping[str, int]]
    note: str = ""

    @classmethod
    def read(cls, path: Path = SCORE) -> "DrawnScore | None":
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None

    def write(self, path: Path = SCORE) -> None:
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    def section(self) -> list[str]:
        """The part of tests/mutants/README.md on drawn mutants."""
        together = Counter[str]()
        for fates in self.fates.values():
            together.update(fates)
        rows = [_row("all", together), *(_row(name, fates) for name, fates in sorted(self.fates.items()))]
        return [
            "## Drawn by a seed",
            "",
            "The faults below were chosen by people who know the code, and tests were written until each was killed:",
            "that score says that what they thought of is held. These were drawn by a seed over all lines of the",
            "product: their score says how much is held of what nobody thought of. Each was tried against the tests",
            "without marks that run its line, as many as take 60 s, then in 60 simulated runs. One that only the table",
            "of hashes notices counts as alive, since the table notices any change, not a wrong one.",
            "",
            f"As of commit {self.commit}, on {self.date}: seed {self.seed}, {self.drawn} drawn, {self.listed} of them",
            f"listed as no faults (`make mutants-drawn SEED={self.seed} N={self.drawn}`). The last column counts those",
            "whose line no such test or run reaches; they are not among the others.",
            "",
            "| package | killed | of | share (95 %) | by tests | by runs | hashes alone | alive | not reached |",
            "|---|---|---|---|---|---|---|---|---|",
            *rows,
            "",
            *([self.note, ""] if self.note else []),
        ]


def fates_of(found: Sequence[Found]) -> dict[str, dict[str, int]]:
    """How many of each fate, by package."""
    counts: dict[str, Counter[str]] = {}
    for one in found:
        counts.setdefault(one.package, Counter())[one.fate.name] += 1
    return {package: dict(fates) for package, fates in sorted(counts.items())}


def _row(name: str, fates: Mapping[str, int]) -> str:
    killed = fates.get("TEST", 0) + fates.get("RUN", 0)
    reached = killed + fates.get("HASHES_ALONE", 0) + fates.get("SURVIVED", 0)
    cells = [fates.get(fate.name, 0) for fate in Fate]
    share = "–"
    if reached:
        interval = binomtest(killed, reached).proportion_ci(method="wilson")
        share = f"{killed / reached:.0%} ({interval.low:.0%} to {interval.high:.0%})"
    return f"| {name} | {killed} | {reached} | {share} | {' | '.join(map(str, cells))} |"
