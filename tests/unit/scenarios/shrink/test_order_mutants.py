"""Goal: bugs of ordered messages are caught, each by its property, in runs of at most three faults and ten messages.

Method: the small runs that ``support.order_mutants`` has found and stored, with the bug and without it.
"""

import pytest
from support.order_mutants.mutants import FAULTS_MAX, MUTANTS, OPERATIONS_MAX, stored

RUNS = stored()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_small_run_tells_a_planted_bug_from_none(name):
    mutant, run = MUTANTS[name], RUNS[name]
    assert len(run.faults) <= FAULTS_MAX
    assert len(run.load.operations) <= OPERATIONS_MAX
    assert (mutant.broken(run), mutant.kept(run)) == (True, True)
