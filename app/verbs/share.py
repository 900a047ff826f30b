"""``zonelab share``: a counterexample as one page, with its story, the lens, the file itself and the command."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zonelab.analysis.checkers.verdict import Verdict, class_named
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.share_page import SharedCase, write_share_page
from zonelab.analysis.summary.narrative import narrative
from zonelab.analysis.summary.result import Result
from zonelab.app.verbs.lens import lens_content
from zonelab.scenarios.errors import NotAccepted, ScenarioError
from zonelab.scenarios.run.simulated import run_in_sim
from zonelab.scenarios.run_phases import Watcher
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.reporting.footer import command_line
from zonelab.studies.stories.lens import lens
from zonelab.studies.stories.story import setting_of, story

FILE_BYTES_MAX = 1_000_000
"""A larger file is no counterexample that somebody would read in a page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareResult:
    """A page that was written; ``valid``: the verdict on the run in it."""

    page: Path
    valid: Any
    command: str

    def to_json(self) -> dict[str, Any]:
        return {"page": str(self.page), "valid": self.valid, "command": self.command}

    def print(self) -> None:
        print_lines(str(self.page))


def shared_scenario(file: Path) -> tuple[Scenario, str]:
    """Return the scenario in ``file``, for simulation, and its text. Raises ``NotAccepted``, or ``ScenarioError``."""
    if not file.is_file():
        problem = "is not a file" if file.exists() else "no such file"
        report = file / "report.html"
        page = f"; of a run, send {report}" if report.is_file() else ""
        raise NotAccepted(f"{file}: {problem}; accepted: a scenario file{page}")
    if (size := file.stat().st_size) > FILE_BYTES_MAX:
        raise NotAccepted(f"{file}: has {size:,} bytes; accepted: up to {FILE_BYTES_MAX:,}")
    with suppress(ScenarioError):  # which the next line raises, unless arm=sim mends it
        if load_scenario(str(file)).programs:
            raise NotAccepted(f"{file}: share makes the run in simulation, without programs; send a run's report.html")
    scenario = load_scenario(str(file), overrides=["arm=sim"])
    return scenario, file.read_text(encoding="utf-8")


def share(file: Path, scenario: Scenario, text: str, *, out: Path | None, shown: Watcher) -> ShareResult:
    """Run ``scenario`` in simulation and write the page of what happens, beside ``file`` unless ``out`` says where.

    Raises ``NotAccepted`` if there is nothing to judge, and ``OSError``.
    """
    command = command_line(["zonelab", "replay", file.name])
    with TemporaryDirectory(prefix="zonelab-share-") as folder:
        directory, record = run_in_sim(scenario, runs=Path(folder), watcher=shown, command=command)
        if record.status == "failed" or not record.phases:
            raise NotAccepted(f"{file}: the run failed: {record.error}")
        shown.phase("check", None)
        result = Result.examined(directory, title=scenario.level)
        shown.phase("lens", None)
        case = _case(RunDirectory.open(directory), file, scenario, text, result, command)
    page = write_share_page(case, file.with_suffix(".html") if out is None else out)
    return ShareResult(page=page, valid=result.verdict.valid, command=command)


def _case(run: RunDirectory, file: Path, scenario: Scenario, text: str, result: Result, command: str) -> SharedCase:
    verdict, info = result.verdict, run.info
    name, message_id = _first_case(verdict)
    facts = {
        "zonelab": info.zonelab_version,
        "commit": info.git_commit,
        "trace hash": getattr(info, "trace_hash", None),
    }
    return SharedCase(
        title=f"{scenario.name}: {class_named(name).words}" if name else f"{scenario.name} at {scenario.level}",
        word=verdict.word,
        setting=setting_of(scenario),
        sentences=narrative([result]),
        story=story(scenario, class_named(name)) if name else "",
        lens=lens_content(run.path, lens(run, message_id)) if message_id else None,
        name=file.name,
        text=text,
        command=command,
        facts={key: str(value) for key, value in facts.items() if value},
    )


def _first_case(verdict: Verdict) -> tuple[str, str]:
    """Return the first forbidden class that has a case, and the message of the case, if it is of one."""
    for name in map(str, verdict.violated):
        ids = [one.message_id for one in verdict.cases.get(name, ()) if one.message_id]
        return name, ids[0] if ids and "queue" in verdict.sections else ""
    return "", ""
