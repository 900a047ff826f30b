"""``zonelab shrink``: the smaller run as a file that replays, and its story."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.number_text import counted
from zonelab.scenarios.spec.reading import write_scenario
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.reporting.console import console
from zonelab.studies.reporting.progress import Work
from zonelab.studies.shrink.queue_run import shrink
from zonelab.studies.shrink.search import NotFailing, OnSmaller, Shrunk, operations_of
from zonelab.studies.shrink.workload_run import shrink_accesses
from zonelab.studies.stories.story import story

SHRUNK = "shrunk.yaml"
STORY = "story.md"
RUNS = Path("runs")


def class_of(scenario: Scenario, wanted: str | None) -> CaseClass:
    """Return what the shrunk run must violate. Raises ``NotFailing`` if that is open, or if the clients have
    no such thing.
    """
    kinds: Sequence[CaseClass] = list(Anomaly)
    if scenario.workload is None:
        kinds = [*MessageClass, *(Property if scenario.features.order else ())]
    if wanted is not None:
        if wanted not in kinds:
            raise NotFailing(f"--class: got {wanted!r}; accepted for this scenario: {', '.join(kinds)}")
        return kinds[kinds.index(wanted)]
    # By name: a class and an anomaly share one, and a file does not say which of the two it means.
    violated = [kind for kind in kinds if scenario.found is not None and kind in scenario.found.violated]
    if len(violated) != 1:
        named = ", ".join(violated) or "nothing"
        raise NotFailing(f"the file tells of {named}; say with --class which violation is to stay")
    return violated[0]


def _smaller(scenario: Scenario, kept: CaseClass, *, runs_max: int, on_smaller: OnSmaller) -> Shrunk:
    if isinstance(kept, Anomaly):
        return shrink_accesses(scenario, kept, runs_max=runs_max, on_smaller=on_smaller)
    return shrink(scenario, kept, runs_max=runs_max, on_smaller=on_smaller)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShrinkResult:
    """A shrunk counterexample and the files that were written."""

    before: Scenario
    shrunk: Shrunk
    scenario_file: Path
    story_file: Path

    @classmethod
    def of(cls, path: Path, scenario: Scenario, kept: CaseClass, *, runs_max: int) -> Self:
        """Shrink ``scenario`` of the file ``path`` and write beside it. Raises ``NotFailing`` and ``OSError``.

        What is not a file is the name of a shipped scenario, and the place is ``runs/<name>/shrunk-<class>``.
        """
        directory = path.parent if path.is_file() else RUNS / scenario.name / f"shrunk-{kept}"
        with Work("shrink") as shown:

            def on_smaller(runs: int, smaller: Scenario) -> None:
                shown.phase(f"{_size(smaller)} after {counted(runs, 'run')}", None)

            shrunk = _smaller(scenario, kept, runs_max=runs_max, on_smaller=on_smaller)
        done = cls(before=scenario, shrunk=shrunk, scenario_file=directory / SHRUNK, story_file=directory / STORY)
        directory.mkdir(parents=True, exist_ok=True)
        write_scenario(shrunk.scenario, done.scenario_file)
        done.story_file.write_text(story(shrunk.scenario, kept), encoding="utf-8")
        return done

    def to_json(self) -> dict[str, Any]:
        before, after = self.before, self.shrunk.scenario
        return {
            "class": self.shrunk.violation,
            "runs": self.shrunk.runs,
            "bounded": self.shrunk.bounded,
            "faults": [len(before.faults), len(after.faults)],
            "operations": [len(operations_of(before)), len(operations_of(after))],
            "scenario": str(self.scenario_file),
            "story": str(self.story_file),
        }

    def print(self) -> None:
        out = console()
        after = self.shrunk.scenario
        out.print(f"{_size(self.before)} became {_size(after)}, still {self.shrunk.violation}.", highlight=False)
        limit = "the limit; there may be a smaller run" if self.shrunk.bounded else "nothing smaller was found"
        out.print(f"{counted(self.shrunk.runs, 'run')}: {limit}.\n", highlight=False)
        out.print(self.story_file.read_text(encoding="utf-8"), highlight=False, soft_wrap=True)
        for words in (str(self.story_file), f"zonelab replay {self.scenario_file}"):
            out.print(words, highlight=False, soft_wrap=True)


def _size(scenario: Scenario) -> str:
    operations = len(operations_of(scenario)) or "drawn"
    return f"{len(scenario.faults)} faults and {operations} operations"
