"""Studies that are made in this process and leave no files, unless a ``state`` is given."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zonelab.studies.guarantees.ablation import ablation_pairs
from zonelab.studies.guarantees.matrix import Cell, Matrix, matrix_from, matrix_of
from zonelab.studies.guarantees.option_ablation import option_pairs
from zonelab.studies.guarantees.paired import PairedStudy

FACTS: dict[str, Any] = {
    **{"verb": "study", "name": "s", "command": "zonelab study s", "directory": Path("there"), "environment": {}},
    **{"seeds": range(1, 41), "runs": 40, "known": 40, "took_s": 1.0, "complete": True, "problems": ()},
}
"""Facts of a report beside what it found."""


def fill(cells: Sequence[Cell], *, seeds: Sequence[int], **how: Any) -> Matrix:
    return matrix_from(cells, matrix_of(cells, seeds).run(**how))


def ablate(*what: Any, **which: Any) -> PairedStudy[Any]:
    pairs = ablation_pairs(*what, **which)
    return pairs.compared(pairs.experiment.run())


def ablate_options(**which: Any) -> PairedStudy[Any]:
    pairs = option_pairs(**which)
    return pairs.compared(pairs.experiment.run())
