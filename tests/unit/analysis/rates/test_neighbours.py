"""Goal: settings one value apart are told apart by pairs of seeds, and twins are not. Method: planted settings."""

from support.analysis.planted_rollouts import Rollout, Setting

from zonelab.analysis.rates.neighbours import neighbours
from zonelab.analysis.rates.objectives import Figure

FIGURES = [Figure.parsed(text) for text in ("p99(push)", "commands", "duplicates")]


def test_a_neighbour_differs_in_what_was_planted_and_a_twin_in_nothing() -> None:
    rollout = Rollout(
        settings={
            "level=A lease=3": Setting(),
            "level=A lease=6": Setting(),
            "level=B lease=3": Setting(duplicated=3.0, commands=900),
            "level=B lease=6": Setting(),
        },
        objectives=("p99(push) < 1s",),
        recommended=None,
        lasts_s=3.0,
    )
    twin, other = neighbours(rollout.measured(1), "level=A lease=3", FIGURES)
    assert (twin.changed, other.changed) == ("lease=6", "level=B")
    assert (
        str(twin) == "with lease=6: runs of the same seeds tell it apart in none of p99(push), commands and duplicates"
    )
    assert [one.partition(" ")[0] for one in other.differs] == ["commands", "duplicates"]
    assert other.alike == ("p99(push)",)


def test_what_differs_by_less_than_the_digits_that_are_told_is_alike() -> None:
    """One command in 500,000 more in every run: pairs tell it apart from none, and nobody who reads does."""
    settings = {"lease=3": Setting(commands=500_000), "lease=6": Setting(commands=500_001)}
    rollout = Rollout(settings=settings, objectives=("p99(push) < 1s",), recommended=None, lasts_s=3.0)
    (twin,) = neighbours(rollout.measured(1), "lease=3", FIGURES)
    assert twin.differs == ()
