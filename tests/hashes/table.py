"""Guards what simulated runs do while the code is changed: hashes of many runs, kept in table.txt.

``check`` makes the runs again. Where one differs, it makes it with the code of the commit that the table names, too,
and names the first event or row in which the two part. ``again`` makes the table for the present code. ``run`` prints
one run in full; the copies of this script in older commits are asked for it, so its arguments and output stay.
"""

import argparse
import inspect
import json
import logging
import os
import subprocess
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import product, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zonelab.analysis.runs.history import ADDED, OPERATIONS
from zonelab.cluster.sim.trace import Trace
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.fault_draws.swarm import drawn
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.run.trial import Trial, attempt
from zonelab.scenarios.run_files.tables import FAULTS_NAME, OPERATIONS_NAME
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.many_runs.processes import Processes
from zonelab.studies.many_runs.run_all import run_all
from zonelab.studies.many_runs.task import RunTask

HASHED = (
    *("index", "time_ns", "invoke_ns", "intended_ns", "process", "zone", "f", "type", "op_id", "message_id", "key"),
    *("shard", "delivery", "due_ms", "lease_start_ms", "leased_ms", "lease_end_ms", "priority", "lease_ms", "error"),
)
"""The columns of operations that the table's hashes cover. A later one is left out, so that the table stays."""

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
TABLE = FOLDER / "table.txt"

SCENARIOS = ("no-faults", "any-of-one-zone", "every-fault")
_FIFO = ("queue.engine=fifo", "queue.partitions=2")
QUEUES: Mapping[str, tuple[str, ...]] = {
    "dyno": (),
    "dyno-v2": ("queue.engine=dyno-v2",),
    "hardened": ("queue.mode=hardened",),
    "gmq": ("queue.engine=gmq",),
    "youzan": ("queue.engine=youzan",),
    "zset": ("queue.engine=zset",),
    "fifo-4.9": (*_FIFO, "queue.mode=rocketmq-4.9"),
    "fifo-5.3": (*_FIFO, "queue.mode=rocketmq-5.3"),
    "fifo-fenced": (*_FIFO, "queue.mode=fenced"),
}
LEVELS = (Level.DC_ONE, Level.DC_QUORUM, Level.DC_SAFE_QUORUM)
SEEDS = {queue: range(1, 61 if queue in ("dyno", "dyno-v2", "hardened") else 7) for queue in QUEUES}
MESSAGES = 100

HEADING = """\
# What simulated runs did at a commit: run, events, and 16 digits of the SHA-256 of trace, history and faults.
# Checked by `make hashes`, made by `make hashes-again`.
"""

# With all zones killed none can come back warm: a few runs end so, which is what they are to do, and say it in the log.
LOGGER.addHandler(logging.NullHandler())

_DIGITS = 16
_NAMED_MAX = 10
_OLD_RUN_S = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of the table, called SCENARIO/QUEUE/LEVEL/SEED."""

    scenario: str
    queue: str
    level: Level
    seed: int

    @classmethod
    def called(cls, name: str) -> "Run":
        scenario, queue, level, seed = name.split("/")
        return cls(scenario=scenario, queue=queue, level=Level(level), seed=int(seed))

    @property
    def name(self) -> str:
        return f"{self.scenario}/{self.queue}/{self.level}/{self.seed}"

    def attempt(self, *, keep_trace: bool) -> Trial:
        """As a hunt runs the seed."""
        base = _base(self.scenario, self.queue, self.level)
        return attempt(drawn(base, seed=self.seed, messages=MESSAGES), keep_trace=keep_trace)


RUNS = tuple(
    Run(scenario=scenario, queue=queue, level=level, seed=seed)
    for scenario, queue, level in product(SCENARIOS, QUEUES, LEVELS)
    for seed in SEEDS[queue]
)


@cache
def _base(scenario: str, queue: str, level: Level) -> Scenario:
    return load_scenario(str(FOLDER / f"{scenario}.yaml"), overrides=(f"level={level}", *QUEUES[queue]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """What the table says of one run."""

    run: str
    events: int
    trace: str
    history: str
    faults: str

    @classmethod
    def of(cls, run: Run) -> "Line":
        trial = run.attempt(keep_trace=False)
        rows = _rows(trial)
        faults = {FAULTS_NAME: rows.pop(FAULTS_NAME, [])}
        trace = trial.run.trace_hash[:_DIGITS]
        events = trial.run.trace.events
        return cls(run=run.name, events=events, trace=trace, history=_digest(rows), faults=_digest(faults))

    @classmethod
    def from_text(cls, text: str) -> "Line":
        run, events, trace, history, faults = text.split()
        return cls(run=run, events=int(events), trace=trace, history=history, faults=faults)

    def to_text(self) -> str:
        return f"{self.run} {self.events} {self.trace} {self.history} {self.faults}\n"

    def parted(self, other: "Line") -> tuple[str, ...]:
        """What of the run differs."""
        return tuple(part for part in ("trace", "history", "faults") if getattr(self, part) != getattr(other, part))


def _rows(trial: Trial) -> dict[str, list[str]]:
    """The rows of every table, each as JSON: enumerations as text, so their names in the code do not matter.

    Of operations, the columns ``HASHED``; one that older histories lack is left out of a row in which it is null. A
    fault that has ended has the row that tells so, and no other, as it had when there was none at its begin.
    """
    tables = {name: table.rows for name, table in sorted(trial.tables.tables.items())}
    if FAULTS_NAME in tables:
        tables[FAULTS_NAME] = list({row[0]: row for row in tables[FAULTS_NAME]}.values())
    return {name: [json.dumps(_said(name, row), default=str) for row in rows] for name, rows in tables.items()}


def _said(name: str, row: Sequence[Any]) -> Sequence[Any]:
    if name != OPERATIONS_NAME:
        return row
    named = zip(OPERATIONS.names, row, strict=True)
    return [value for column, value in named if column in HASHED and (value is not None or column not in ADDED)]


def _digest(rows: Mapping[str, Sequence[str]]) -> str:
    digest = sha256()
    for name, lines in rows.items():
        digest.update("".join(f"{name} {line}\n" for line in lines).encode())
    return digest.hexdigest()[:_DIGITS]


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedRun:
    """One run in full: what was noted, the time of every event, and the rows of the tables."""

    notes: list[str]
    times_ns: list[int]
    rows: dict[str, list[str]]

    @classmethod
    def of(cls, run: Run) -> "RecordedRun":
        with _kept_times() as times_ns:
            trial = run.attempt(keep_trace=True)
        return cls(notes=trial.run.trace.notes or [], times_ns=list(times_ns), rows=_rows(trial))

    def to_json(self) -> str:
        return json.dumps({"notes": self.notes, "times_ns": self.times_ns, "rows": self.rows})


@contextmanager
def _kept_times() -> Iterator["array[int]"]:
    """A trace keeps its notes but not the times of events without one; here they are kept as they go into the hash."""
    kept, flush = array("q"), Trace.flush

    def keep(self: Trace) -> None:
        kept.extend(self.times_ns)
        flush(self)

    Trace.flush = keep  # type: ignore[method-assign]
    try:
        yield kept
    finally:
        Trace.flush = flush  # type: ignore[method-assign]


def parting(before: RecordedRun, now: RecordedRun) -> list[str]:
    """The first differing event, noted or not, and the first differing row of each table; a line for each."""
    lines = []
    note, event = _first(before.notes, now.notes), _first(before.times_ns, now.times_ns)
    if note is not None:
        lines.append(f"first differing event: note {_both(*note)}")
    if event is not None:
        what = "first differing event, not noted" if note is None else "first differing time of any event"
        lines.append(f"{what}: at ns, event {_both(*event)}{_last_note(now, event[0])}")
    for name in sorted(before.rows | now.rows):
        row = _first(before.rows.get(name, []), now.rows.get(name, []))
        if row is not None:
            lines.append(f"first differing row of {name}: row {_both(*row)}")
    return lines


def _first(before: Iterable[Any], now: Iterable[Any]) -> tuple[int, Any, Any] | None:
    pairs = enumerate(zip_longest(before, now, fillvalue="nothing"))
    return next(((index, one, other) for index, (one, other) in pairs if one != other), None)


def _both(index: int, before: Any, now: Any) -> str:
    return f"{index}: before {before}, now {now}"


def _last_note(recorded: RecordedRun, index: int) -> str:
    """The last note before the time of an event, of the run as it is now."""
    at_ns = recorded.times_ns[min(index, len(recorded.times_ns) - 1)]
    last = next((note for note in reversed(recorded.notes) if int(note.partition(" ")[0]) < at_ns), None)
    return "" if last is None else f"; the last note before it: {last}"


class UnknownCommitError(Exception):
    """The code that the table was made with cannot be had."""


@contextmanager
def exported(commit: str) -> Iterator[Path]:
    """The files of ``commit`` in a temporary folder. Raises ``UnknownCommitError``."""
    with TemporaryDirectory(prefix="hashes-") as folder:
        archive = Path(folder) / "commit.tar"
        _output("git", "-C", str(ROOT), "archive", f"--output={archive}", commit, "--")
        files = Path(folder) / "files"
        files.mkdir()
        _output("tar", "-xf", str(archive), "-C", str(files))
        yield files


def recorded_before(run: Run, files: Path) -> RecordedRun:
    """The run as the code in ``files`` makes it, with this interpreter. Raises ``UnknownCommitError``."""
    script = files / Path(__file__).resolve().relative_to(ROOT)
    said = _output(
        sys.executable, str(script), "run", run.name, cwd=files, env={**os.environ, "PYTHONPATH": str(files)}
    )
    return RecordedRun(**json.loads(said))


def _output(*command: str, **settings: Any) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_OLD_RUN_S, check=True, **settings)
    except subprocess.CalledProcessError as error:
        raise UnknownCommitError((error.stderr or "").strip()[-1000:] or str(error)) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnknownCommitError(str(error)) from None
    said: str = done.stdout
    return said


def read_table(path: Path) -> tuple[str, dict[str, Line]]:
    """The commit that the table names, and its lines by run."""
    said = [text for text in path.read_text(encoding="utf-8").splitlines() if not text.startswith("#")]
    commit = said[0].removeprefix("commit ")
    return commit, {line.run: line for line in map(Line.from_text, said[1:])}


def differences(runs: Sequence[Run], *, jobs: int, table: Path = TABLE) -> list[str]:
    """How the runs differ from the table, in lines; none if they do not. One run of each sort is explained."""
    commit, before = read_table(table)
    missing = Line(run="", events=0, trace="", history="", faults="")
    parted: dict[str, tuple[str, ...]] = {}
    events: dict[str, str] = {}
    for line in _lines(runs, jobs=jobs):
        old = before.get(line.run, missing)
        if parts := line.parted(old):
            parted[line.run] = parts
            events[line.run] = f"{line.events} events now, {old.events} before"
    if not parted:
        return []
    sorts = Counter(" and ".join(parts) for parts in parted.values())
    counts = ", ".join(f"{count} in {sort}" for sort, count in sorts.items())
    said = [f"{len(parted)} of {len(runs)} runs differ from {commit[:12]}: {counts}"]
    said += [f"  {name}: {', '.join(parts)}; {events[name]}" for name, parts in list(parted.items())[:_NAMED_MAX]]
    said += [f"  and {len(parted) - _NAMED_MAX} more"] if len(parted) > _NAMED_MAX else []
    explained = {parts: name for name, parts in reversed(parted.items())}
    return said + _explanations([Run.called(name) for name in reversed(explained.values())], commit)


def _lines(runs: Sequence[Run], *, jobs: int) -> list[Line]:
    tasks = [RunTask(f"{run.scenario}/{run.queue}/{run.level}", run.seed, run) for run in runs]
    done = run_all(Line.of, tasks, workers=Processes(jobs))
    if not done.complete:
        raise KeyboardInterrupt
    assert not done.failures, next(iter(done.failures.items()))
    return [done.results[task.key] for task in tasks]


def _explanations(runs: Sequence[Run], commit: str) -> list[str]:
    said = []
    try:
        with exported(commit) as files:
            for run in runs:
                said.append(f"{run.name}, before being {commit[:12]}:")
                parts = parting(recorded_before(run, files), RecordedRun.of(run)) or [
                    "the code of that commit does the same now"
                ]
                said += [f"  {part}" for part in parts]
    except UnknownCommitError as error:
        said.append(f"the first differing event cannot be named, as {commit[:12]} cannot be run here: {error}")
    return said


def make_table(*, jobs: int) -> None:
    """Write the table for the last commit. Raises ``UnknownCommitError`` if the files are not as that has them."""
    changed = _output(
        "git", "-C", str(ROOT), "status", "--porcelain", "--", ".", f":(exclude){TABLE.relative_to(ROOT)}"
    )
    if changed:
        raise UnknownCommitError(f"commit first, as the table names the commit whose runs it has:\n{changed}")
    commit = _output("git", "-C", str(ROOT), "rev-parse", "HEAD").strip()
    text = "".join(line.to_text() for line in _lines(RUNS, jobs=jobs))
    TABLE.write_text(f"{HEADING}commit {commit}\n{text}", encoding="utf-8")


def _check(options: argparse.Namespace) -> int:
    chosen = [run for run in RUNS if not options.only or f"{run.name}/".startswith(options.only.rstrip("/") + "/")]
    if not chosen:
        sys.stderr.write(f"no run is called {options.only}; accepted: the beginning of a name like {RUNS[0].name}\n")
        return 2
    said = differences(chosen, jobs=options.jobs)
    sys.stdout.writelines(f"{line}\n" for line in said or [f"all {len(chosen)} runs are as the table has them"])
    return 1 if said else 0


def _again(options: argparse.Namespace) -> int:
    try:
        make_table(jobs=options.jobs)
    except UnknownCommitError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _run(options: argparse.Namespace) -> int:
    sys.stdout.write(RecordedRun.of(Run.called(options.name)).to_json())
    return 0


def main(arguments: Sequence[str]) -> int:
    """What the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(description="hashes of simulated runs, to see whether a change changes any")
    commands = parser.add_subparsers(required=True)
    check = commands.add_parser("check", help="make the runs and compare them with the table")
    check.add_argument("--only", default="", help="runs whose name begins so, as in every-fault/dyno/DC_ONE/7")
    check.set_defaults(program=_check)
    again = commands.add_parser("again", help="make the table for the last commit")
    again.set_defaults(program=_again)
    for command in (check, again):
        command.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    run = commands.add_parser("run", help="print one run in full")
    run.add_argument("name", help="SCENARIO/QUEUE/LEVEL/SEED")
    run.set_defaults(program=_run)
    options = parser.parse_args(arguments)
    code = Path(inspect.getfile(attempt)).resolve()
    if not code.is_relative_to(ROOT):
        sys.stderr.write(f"the code that would run is {code}, which is not in {ROOT}\n")
        return 2
    exit_code: int = options.program(options)
    return exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
