"""Goal: work that may take long tells how far it is, up to the whole. Method: small work, and all that it told."""

from datetime import date
from itertools import pairwise
from pathlib import Path

from support.analysis.runs import eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.pbs.estimates import sample
from zonelab.analysis.pbs.models import MODELS
from zonelab.analysis.pbs.rules import Quorum
from zonelab.analysis.report import build_report
from zonelab.analysis.run_index.index import read_index

Told = list[tuple[str, float, float]]


def is_up_to_the_whole(told: Told) -> bool:
    """Return whether parts were reported in order, none beyond its whole, and the last to its end."""
    rising = all(one[1] <= other[1] for one, other in pairwise(told) if one[0] == other[0])
    return rising and all(done <= total for _, done, total in told) and told[-1][1] == told[-1][2]


def test_a_check_tells_how_much_of_the_history_it_has_read_and_how_many_parts_it_has_judged(tmp_path: Path) -> None:
    told: Told = []
    run = eventful_run(tmp_path / "run").write()
    verdict = check(run, rows_per_partition=10, batch_rows=10, stage=lambda *part: told.append(part))
    assert list(dict.fromkeys(name for name, _, _ in told)) == ["history", "messages"]
    assert is_up_to_the_whole(told)
    assert told[-1][1] > 1
    assert check(run).to_json() == verdict.to_json()


def test_a_report_tells_of_each_figure(tmp_path: Path, undrawn: None) -> None:
    told: Told = []
    run = eventful_run(tmp_path / "run").write()
    check(run)
    build_report(run, stage=lambda *part: told.append(part))
    assert told == [("figures", done, 5) for done in range(6)]


def test_an_index_tells_of_each_run(tmp_path: Path) -> None:
    told: Told = []
    for name in ("one", "two"):
        eventful_run(tmp_path / name).write()
    read_index(tmp_path, lambda *_: (), today=date(2026, 11, 29), stage=lambda *part: told.append(part))
    assert told == [("runs", 1, 2), ("runs", 2, 2)]


def test_a_sample_tells_how_many_trials_it_has() -> None:
    told: Told = []
    found = sample(
        MODELS["wan"], [Quorum(1, 1)], replicas=3, trials=200_000, seed=1, stage=lambda *part: told.append(part)
    )
    assert len(found) == 1
    assert len(told) > 1
    assert is_up_to_the_whole(told)
    assert not is_up_to_the_whole(told[:-1]), "what stops before the end is found"
    assert not is_up_to_the_whole([*told, *told]), "what goes back is found"
