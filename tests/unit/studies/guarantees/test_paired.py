"""Goal: an effect is told from chance, and a study that was broken off goes on where it was.

Method: counts whose chances are known; runs made up, the third of which Ctrl-C ends.
"""

from dataclasses import dataclass
from pathlib import Path

from support.studies.in_memory import FACTS

from zonelab.analysis.number_text import counted
from zonelab.analysis.observation import Observation
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.scenarios.fault_draws.fault_classes import FaultClass
from zonelab.studies.guarantees.ablation_report import AblationReport
from zonelab.studies.guarantees.mechanisms import Ablation
from zonelab.studies.guarantees.paired import Conditions, PairedStudy, Pairs, RowResult
from zonelab.studies.many_runs.run_all import AllRuns

MADE: list[tuple[str, int]] = []


@dataclass(frozen=True, slots=True)
class MadeUp:
    """The run of ``row`` fails with odd seeds; its twin never does."""

    row: str
    seed: int
    ended_at: int = 0

    @property
    def conditions(self) -> Conditions:
        return Conditions(FaultClass.NONE)

    @property
    def setting(self) -> str:
        return self.row

    @property
    def twin(self) -> "MadeUp":
        return MadeUp("twin", self.seed)

    def measure(self) -> Observation:
        if len(MADE) == self.ended_at - 1:
            raise KeyboardInterrupt
        MADE.append((self.row, self.seed))
        lost = {"lost": self.seed} if self.row == "without" and self.seed % 2 else {}
        return Observation(valid=not lost, counts=lost, numbers={"late": self.seed / 3})


def study(state: Path | None, *, ended_at: int = 0) -> tuple[AllRuns, RowResult]:
    runs = [MadeUp(row, seed, ended_at) for seed in (1, 2, 3) for row in ("twin", "without")]
    pairs = Pairs(name="made up", rows=["without"], runs=runs, tests=1)
    if state is None:
        done = pairs.experiment.run()
    else:
        with pairs.experiment.state(state) as kept:
            done = pairs.experiment.run(state=kept)
    return done, pairs.compared(done).rows["without"]


def test_a_study_goes_on_from_its_state_and_finds_what_one_at_once_finds(tmp_path: Path) -> None:
    MADE.clear()
    broken_off, _ = study(tmp_path / "state", ended_at=3)
    assert (broken_off.complete, broken_off.done, MADE) == (False, 2, [("twin", 1), ("without", 1)])
    whole, row = study(tmp_path / "state")
    assert (whole.complete, whole.done, whole.known, len(MADE)) == (True, 6, 2, 6)
    assert row == study(None)[1]
    assert (row.failed_runs, row.failed_twins) == (2, 0)


def test_a_table_says_when_no_row_of_so_few_seeds_could_show_anything() -> None:
    off, result = Ablation((DynoMechanism.LEASE_NX,)), RowResult()
    found = PairedStudy(rows={off: result}, tests=10)
    assert found.least_seeds == 8  # 1 in 2**8 is the first below 5 % over 10 tests
    for seed in range(found.least_seeds):
        page = AblationReport(**FACTS, study=found).document(Path("page.md"))
        assert f"{counted(seed, 'seed')}: worse in {seed} and better in 0 comparisons: too few seeds, since" in page
        stuck, none = Observation(valid=False, counts={"stuck": 1}), Observation(valid=True)
        result.add(stuck, none, conditions=Conditions(FaultClass.NONE), seed=seed)
    assert found.more(off, ("stuck",)) == ("stuck",)


def test_a_run_is_compared_with_the_twin_of_its_seed_and_undecided_ones_with_none() -> None:
    runs = [MadeUp("without", seed) for seed in range(9, 0, -1)]
    pairs = Pairs(name="made up", rows=["without"], runs=[*runs, *(run.twin for run in reversed(runs))], tests=1)
    done = pairs.experiment.run()
    done.results["twin", 9] = Observation(valid="unknown", problem="its end is not known")
    row = pairs.compared(done).rows["without"]
    assert row.difference("late").values == (0.0,) * 8
    assert sorted(row.difference("lost").values) == [0, 0, 0, 0, 1, 3, 5, 7]
    assert (row.runs, row.problems) == (8, {9: "its end is not known"})
