"""What is known of every mutant: the stored file of killers, the table, and the page."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mutants.catalogue import AREAS
from mutants.drawn.score import DrawnScore
from mutants.mutant import Mutant

SURVIVED = "SURVIVED"
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Killers:
    """By mutant the tests or simulated runs that kill it, none for a survivor; ``score``: the share that is killed."""

    score: float = 0.0
    killers: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Killers":
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else cls()

    def write(self, path: Path) -> None:
        text = json.dumps({"score": self.score, "killers": self.killers}, indent=2, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")

    def updated(
        self, mutants: Sequence[Mutant], killed: Mapping[str, str], *, catalogue: Sequence[Mutant]
    ) -> "Killers":
        """With what was found of ``mutants``; what has left the ``catalogue`` is left out."""
        judged = {mutant.id for mutant in mutants}
        killers: dict[str, Sequence[str]] = {}
        for mutant in catalogue:
            if mutant.id in judged:
                killers[mutant.id] = [killed[mutant.id]] if mutant.id in killed else []
            elif mutant.id in self.killers:
                killers[mutant.id] = self.killers[mutant.id]
        return Killers(score=score(sum(map(bool, killers.values())), len(killers)), killers=killers)


def score(killed: int, mutants: int) -> float:
    return round(killed / mutants, 4) if mutants else 0.0


def table(mutants: Sequence[Mutant], killed: Mapping[str, str]) -> str:
    rows = [("mutant", "place", "killed by")]
    rows += [(mutant.id, mutant.place, killed.get(mutant.id, SURVIVED)) for mutant in mutants]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(f"{name:<{widths[0]}}  {place:<{widths[1]}}  {killer}" for name, place, killer in rows)


def commit() -> str:
    """Return the last commit of this checkout; empty outside of one."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def page(killers: Killers, *, asked: int, date: str, commit: str, drawn: DrawnScore | None) -> str:
    """tests/mutants/README.md. ``asked``: so many mutants were planted now; what is told of others is of before."""
    judged = [mutant for area in AREAS.values() for mutant in area if mutant.id in killers.killers]
    alive = [mutant for mutant in judged if not killers.killers[mutant.id]]
    earlier = f" Planted then: {asked}, the others before." if asked < len(judged) else ""
    lines = [
        "# Mutants",
        "",
        "A mutant is a small fault that is planted on purpose, one at a time, in a copy of the project. A test or a",
        "simulated run that then fails has killed it. A mutant that survives is a fault that nobody would notice.",
        "",
        f"As of commit {commit}, on {date}: {len(judged)} mutants, {len(judged) - len(alive)} killed, "
        f"score {killers.score:.1%}.{earlier} `make mutants-all` makes this page.",
        "",
        "`make mutants` asks again, each mutant against what killed it here, and fails if one of these lives. A run is",
        "named by its faults and its seed, in hardened mode at DC_QUORUM; it counts if it is valid without the mutant",
        "and not with it, or if the lab itself fails. Of every-fault hardened mode does not withstand everything, so a",
        "run of it that fails may only have taken another course.",
        "",
        *([] if drawn is None else drawn.section()),
    ]
    for area, mutants in AREAS.items():
        rows = [_row(mutant, killers.killers[mutant.id]) for mutant in mutants if mutant.id in killers.killers]
        lines += [f"## {area[0].upper()}{area[1:]}", "", "| mutant | place | what it breaks | killed by |"]
        lines += ["|---|---|---|---|", *rows, ""]
    lines += ["## Survivors", ""]
    lines += [f"- **{mutant.id}** ({mutant.place}): {mutant.breaks}" for mutant in alive] or ["None."]
    return "\n".join(lines) + "\n"


def _row(mutant: Mutant, killers: Sequence[str]) -> str:
    by = ", ".join(f"`{_escaped(killer)}`" for killer in killers) or f"**{SURVIVED}**"
    return f"| {mutant.id} | `{mutant.place}` | {mutant.breaks} | {by} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")
