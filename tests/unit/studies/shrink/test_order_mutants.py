"""Goal: bugs of ordered messages are caught, each by its property, in runs of at most three faults and ten messages.

Method: the small runs that ``support.order_mutants`` has found and stored, with the bug and without it.
"""

import pytest
from support.order_mutants.mutants import MUTANTS, is_small, row, stored
from support.project_files import ROOT

RUNS = stored()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_small_run_tells_a_planted_bug_from_none(name):
    mutant, run = MUTANTS[name], RUNS[name]
    assert (is_small(run), mutant.broken(run), mutant.kept(run)) == (True, True, True)


def test_the_page_tells_of_each_bug_and_of_the_run_that_is_stored():
    assert list(RUNS) == list(MUTANTS)
    page = (ROOT / "docs" / "fifo-windows.md").read_text(encoding="utf-8")
    assert [name for name, run in RUNS.items() if f"{row(name, run)}\n" not in page] == []
