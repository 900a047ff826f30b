"""Goal: an effect is told from chance. Method: counts whose chances are known."""

import pytest

from scenarios.studies.paired import sign_test


@pytest.mark.parametrize(("worse", "better", "chance"), [(0, 9, 1.0), (1, 0, 0.5), (10, 0, 2**-10), (3, 1, 5 / 16)])
def test_the_sign_test_is_the_tail_of_coin_tosses(worse, better, chance):
    assert sign_test(worse, better) == pytest.approx(chance)
