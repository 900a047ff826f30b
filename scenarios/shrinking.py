"""``zonelab shrink``: the smaller run as a file that replays, and its story."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rich.console import Console

from analysis.checkers.verdict import MessageClass
from scenarios.load import dump_scenario
from scenarios.shrink import NotFailing, Shrunk, shrink
from scenarios.spec import Scenario
from scenarios.story import story
from scenarios.table import console

SHRUNK = "shrunk.yaml"
STORY = "story.md"


def class_of(scenario: Scenario, wanted: MessageClass | None) -> MessageClass:
    """What the shrunk run must violate. Raises ``NotFailing`` if that is open."""
    if wanted is not None:
        return wanted
    violated = [one for one in (scenario.found.violated if scenario.found else ()) if isinstance(one, MessageClass)]
    if len(violated) != 1:
        told = ", ".join(violated) or "nothing"
        raise NotFailing(f"the file tells of {told}; say with --class which violation is to stay")
    return violated[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Shrinking:
    """A shrunk counterexample and the files that were written."""

    before: Scenario
    shrunk: Shrunk
    scenario_file: Path
    story_file: Path

    @classmethod
    def of(cls, path: Path, scenario: Scenario, message_class: MessageClass, *, runs_max: int) -> Self:
        """Shrink ``scenario`` of the file ``path`` and write beside it. Raises ``NotFailing`` and ``OSError``."""
        with Console(stderr=True).status("shrinking") as status:

            def told(runs: int, smaller: Scenario) -> None:
                status.update(f"shrinking: {_size(smaller)} after {runs} runs")

            shrunk = shrink(scenario, message_class, runs_max=runs_max, told=told)
        done = cls(before=scenario, shrunk=shrunk, scenario_file=path.parent / SHRUNK, story_file=path.parent / STORY)
        done.scenario_file.write_text(dump_scenario(shrunk.scenario), encoding="utf-8")
        done.story_file.write_text(story(shrunk.scenario, message_class), encoding="utf-8")
        return done

    def to_json(self) -> dict[str, Any]:
        before, after = self.before, self.shrunk.scenario
        return {
            "class": self.shrunk.message_class,
            "runs": self.shrunk.runs,
            "bounded": self.shrunk.bounded,
            "faults": [len(before.faults), len(after.faults)],
            "operations": [len(before.load.operations or ()), len(after.load.operations or ())],
            "scenario": str(self.scenario_file),
            "story": str(self.story_file),
        }

    def print(self) -> None:
        out = console()
        after = self.shrunk.scenario
        out.print(f"{_size(self.before)} became {_size(after)}, still {self.shrunk.message_class}.", highlight=False)
        limit = "the limit; there may be a smaller run" if self.shrunk.bounded else "nothing smaller was found"
        out.print(f"{self.shrunk.runs} runs: {limit}.\n", highlight=False)
        out.print(self.story_file.read_text(encoding="utf-8"), highlight=False, markup=False, soft_wrap=True)
        for words in (str(self.story_file), f"zonelab replay {self.scenario_file}"):
            out.print(words, highlight=False, soft_wrap=True)


def _size(scenario: Scenario) -> str:
    return f"{len(scenario.faults)} faults and {len(scenario.load.operations or ())} operations"
