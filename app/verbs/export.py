"""``zonelab export``: a run as a file of another tool."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from zonelab.analysis.interchange.csv_tables import write_csv
from zonelab.analysis.interchange.formats import ExportFormat
from zonelab.analysis.interchange.jepsen import write_jepsen
from zonelab.analysis.interchange.otlp import write_otlp
from zonelab.analysis.interchange.perfetto import ReplicaAnswer, VotedCommand, write_perfetto
from zonelab.analysis.interchange.porcupine import write_porcupine
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.whole_files import whole
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.run.command_log import CommandLog, SentCommand
from zonelab.scenarios.run_phases import Watcher
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.stories.again import NotMadeAgain, kept_scenario, made_again
from zonelab.studies.stories.timeline import command_text, reply_text

FOLDER = "exports"

VOTED_MESSAGES_MAX = 2_000
"""Messages of a run whose trace has every command: a larger one has millions of them."""

_NAMES = {
    ExportFormat.PERFETTO: ("trace.perfetto-trace",),
    ExportFormat.OTLP: ("traces.otlp.jsonl",),
    ExportFormat.JEPSEN: ("history.edn", "history.json"),
    ExportFormat.PORCUPINE: ("porcupine.jsonl",),
    ExportFormat.CSV: ("csv",),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Export:
    """Files that were written; ``without``: what the format could have had and they lack, and why."""

    run: Path
    format: ExportFormat
    files: tuple[Path, ...]
    without: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "run": str(self.run),
            "as": self.format,
            "files": [str(path) for path in self.files],
            "without": self.without,
        }

    def print(self) -> None:
        print_lines(*map(str, self.files), *([self.without] if self.without else []))


def exported(directory: Path, format_: ExportFormat, *, out: Path | None, watcher: Watcher | None = None) -> Export:
    """Write the run in ``directory`` as ``format_`` to ``out``.

    Raises ``NotAccepted`` if the kind of run has nothing that the format could say, ``RunError``, and ``OSError``.
    """
    run = RunDirectory.open(directory)
    _refuse(run, format_)
    paths = [run.path / FOLDER / name for name in _NAMES[format_]] if out is None else [_checked(out, format_)]
    without = ""
    if format_ is ExportFormat.CSV:
        paths = list(write_csv(run, paths[0]))
    elif format_ is ExportFormat.PERFETTO:
        without = _write_trace(run, paths[0], watcher)
    else:
        for path in paths:
            _write_text(path, _writer(run, format_, path))
    return Export(run=run.path, format=format_, files=tuple(paths), without=without)


def _refuse(run: RunDirectory, format_: ExportFormat) -> None:
    of_clients = format_ in (ExportFormat.OTLP, ExportFormat.JEPSEN, ExportFormat.PORCUPINE)
    if run.info.session is not None and of_clients:
        raise NotAccepted(f"{run.path} is a session, which records no clients; accepted: --as perfetto, --as csv")
    if run.info.workload is not None and format_ is ExportFormat.OTLP:
        others = ", ".join(f"--as {one}" for one in ExportFormat if one is not ExportFormat.OTLP)
        raise NotAccepted(f"{run.path} has a {run.info.workload.kind} and no messages to trace; accepted: {others}")


def _checked(out: Path, format_: ExportFormat) -> Path:
    if format_ is ExportFormat.JEPSEN and out.suffix not in (".edn", ".json"):
        raise NotAccepted(f"--out {out}: accepted with --as jepsen: a file that ends in .edn or .json")
    if out.is_dir() and format_ is not ExportFormat.CSV:
        raise NotAccepted(f"--out {out} is a folder; accepted: a file")
    return out


def _writer(run: RunDirectory, format_: ExportFormat, path: Path) -> Callable[[TextIO], None]:
    if format_ is ExportFormat.JEPSEN:
        return lambda file: write_jepsen(run, file, as_json=path.suffix == ".json")
    write = write_otlp if format_ is ExportFormat.OTLP else write_porcupine
    return lambda file: write(run, file)


def _write_text(path: Path, write: Callable[[TextIO], None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as partial, partial.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        write(file)


def _write_trace(run: RunDirectory, path: Path, watcher: Watcher | None) -> str:
    """Write a trace; return why it has no commands, if it has none."""
    commands: tuple[VotedCommand, ...] = ()
    without = ""
    try:
        commands = tuple(_voted(run, watcher))
    except NotMadeAgain as error:
        without = f"Without commands and votes: {error}."
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as partial, partial.open("wb") as file:
        write_perfetto(run, file, commands=commands)
    return without


def _voted(run: RunDirectory, watcher: Watcher | None) -> Iterator[VotedCommand]:
    """Make the run again and yield all that its coordinators sent. Raises ``NotMadeAgain``."""
    if run.info.session is not None:
        raise NotMadeAgain("a session is nobody's scenario")
    log = CommandLog()
    scenario = kept_scenario(run, messages_max=VOTED_MESSAGES_MAX)
    made_again(run, scenario, observe=log.testbed, watcher=watcher)
    yield from map(_command, log.commands)


def _command(sent: SentCommand) -> VotedCommand:
    answers = {
        zone: None if answer is None else ReplicaAnswer(time_ns=answer.time_ns, words=reply_text(answer.reply))
        for zone, answer in sent.answers.items()
    }
    words = command_text(sent.command)
    return VotedCommand(time_ns=sent.time_ns, program=sent.program, zone=sent.zone, words=words, answers=answers)
