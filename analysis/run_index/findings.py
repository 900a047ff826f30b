"""Findings: which class of which experiment, since when, how often, and whether it is still there.

The rules stand in ``RULES``, which the page shows. An experiment is one scenario at one level in one arm with the same
further options; runs of one experiment by different programs are compared, and nothing else is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from zonelab.analysis.proportions import proportion_interval
from zonelab.analysis.run_index.expected import Expectations
from zonelab.analysis.run_index.many_runs import ManyRuns
from zonelab.analysis.run_index.run_line import RunLine

RARE_BELOW = 0.05
CHANCE_BELOW = 0.05
_NOTHING_EXPECTED = Expectations()


class Status(StrEnum):
    """In the order of urgency."""

    NEW = "new"
    ONGOING = "ongoing"
    RARE = "rare"
    EXPECTED = "expected"
    NOT_SEEN = "not seen since"
    RESOLVED = "resolved"


RULES: Mapping[Status, str] = {
    Status.NEW: "the newest program showed it, and none before did",
    Status.ONGOING: "the newest program showed it, and one before did, too",
    Status.RARE: f"ongoing, and at most {RARE_BELOW:.0%} of the newest program's runs show it (upper bound of the 95 % "
    "interval of Clopper and Pearson)",
    Status.EXPECTED: "the newest program showed it, not more often than expected.yaml beside the runs allows (lower "
    "bound of the interval), and not after its last day",
    Status.NOT_SEEN: "a program before showed it and the runs since did not, but they are too few to tell",
    Status.RESOLVED: "a program before showed it, and the runs since did not, which chance would do in less than "
    f"{CHANCE_BELOW:.0%} of such cases if nothing had changed (one-sided exact test of Fisher)",
}


@dataclass(frozen=True, slots=True, order=True)
class RunFamily:
    """An experiment as an index tells them apart. ``setting``: further options of the command line; of many runs their
    kind and their name.
    """

    scenario: str
    level: str
    arm: str
    setting: str


@dataclass(slots=True)
class Evidence:
    """The runs of one experiment by one program, the first ``since_utc``. ``hits`` and ``judged``: runs by class.

    ``of_many``: so many judged runs of a hunt or a sweep, of which any class could have been shown.
    """

    program: str
    since_utc: str
    commit: str = ""
    hits: dict[str, int] = field(default_factory=dict)
    judged: dict[str, int] = field(default_factory=dict)
    of_many: int = 0
    seen: set[int | str] = field(default_factory=set)
    example: dict[str, str] = field(default_factory=dict)

    def add(self, *, judged: Iterable[str], shown: Iterable[str], example: str) -> None:
        """Count a run that was ``judged`` for these classes and ``shown`` to break some; ``example`` names it."""
        for name in judged:
            self.judged[name] = self.judged.get(name, 0) + 1
        for name in shown:
            self.hits[name] = self.hits.get(name, 0) + 1
            self.example.setdefault(name, example)

    def could_show(self, name: str) -> int:
        """Return how many runs would have shown the class ``name``, had it occurred."""
        return self.of_many or self.judged.get(name, 0)

    @property
    def label(self) -> str:
        """A commit where there is one: the first seven digits, and those of the program."""
        return f"{self.commit[:7]} ({self.program[:6]})" if self.commit else self.program[:12]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A class that some program showed. ``hits`` of ``runs``: of the last program that showed it.

    ``since``: judged runs of the programs after that one; ``needed``: so many more would tell whether it is resolved.
    ``before``: judged runs of the programs before the first that showed it. ``example``: a run, or a folder of many.
    ``note``: what ``expected.yaml`` says of it.
    """

    experiment: RunFamily
    name: str
    status: Status
    first: str
    last: str
    hits: int
    runs: int
    low: float
    high: float
    since: int
    needed: int
    before: int
    example: str
    note: str = ""


def collected(runs: Iterable[RunLine], many: Iterable[ManyRuns]) -> dict[RunFamily, list[Evidence]]:
    """The evidence of each experiment, by program, in the order of their first runs."""
    found: dict[RunFamily, dict[str, Evidence]] = {}
    for line in sorted(runs, key=lambda line: (line.started_utc, line.place)):
        if line.problem is None and line.valid is not None:
            experiment = RunFamily(line.scenario, line.level, line.arm, line.setting)
            _add_run(_of_program(found, experiment, line.program, line.started_utc), line)
    for one in sorted(many, key=lambda one: (one.updated_utc, one.place)):
        for experiment, evidence in _of_many(one):
            merged = _of_program(found, experiment, one.program, one.updated_utc)
            merged.of_many, merged.hits, merged.example = evidence.of_many, evidence.hits, evidence.example
    commits = {line.program: line.commit for line in runs if line.commit}
    for programs in found.values():
        for evidence in programs.values():
            evidence.commit = commits.get(evidence.program, "")
    return {experiment: list(programs.values()) for experiment, programs in found.items()}


def _of_program(found: dict[RunFamily, dict[str, Evidence]], experiment: RunFamily, program: str, utc: str) -> Evidence:
    return found.setdefault(experiment, {}).setdefault(program, Evidence(program=program, since_utc=utc))


def _add_run(evidence: Evidence, line: RunLine) -> None:
    # A simulated run is decided by its seed, and a copy has the run id of what it was copied from: made or copied
    # twice, each is still one run. One in doubt counts for what it shows only.
    same = line.seed if line.arm == "sim" else line.run_id
    if same in evidence.seen:
        return
    evidence.seen.add(same)
    evidence.add(judged=line.shown if line.doubts else line.judged, shown=line.shown, example=line.place)


def _of_many(one: ManyRuns) -> Iterator[tuple[RunFamily, Evidence]]:
    if not one.program:
        return
    for row in one.rows:
        named = row.setting if row.setting != one.scenario else ""
        setting = " ".join(filter(None, [one.kind, named, one.experiment[:8]]))
        evidence = Evidence(program=one.program, since_utc=one.updated_utc, hits=dict(row.failing), of_many=row.judged)
        evidence.example = dict.fromkeys(row.failing, one.place)
        yield RunFamily(one.scenario, "", "sim", setting), evidence


def findings(
    evidence: Mapping[RunFamily, Sequence[Evidence]], expectations: Expectations = _NOTHING_EXPECTED
) -> list[Finding]:
    """Return every class that any program showed: the urgent ones first, of those the ones in most runs."""
    found = [
        _finding(experiment, name, programs, expectations)
        for experiment, programs in evidence.items()
        for name in dict.fromkeys(name for one in programs for name in one.hits)
    ]
    order = list(Status)
    return sorted(found, key=lambda one: (order.index(one.status), -one.hits / one.runs, one.experiment, one.name))


def _finding(experiment: RunFamily, name: str, programs: Sequence[Evidence], expectations: Expectations) -> Finding:
    judging = [one for one in programs if one.could_show(name)]
    showing = [index for index, one in enumerate(judging) if one.hits.get(name)]
    first, last = judging[showing[0]], judging[showing[-1]]
    hits, runs = last.hits[name], last.could_show(name)
    since = sum(one.could_show(name) for one in judging[showing[-1] + 1 :])
    interval, seen_now = proportion_interval(hits, runs), showing[-1] == len(judging) - 1
    needed = 0 if seen_now else max(0, _enough(hits, runs) - since)
    expected, note = expectations.judged(
        scenario=experiment.scenario,
        level=experiment.level,
        setting=experiment.setting,
        class_name=name,
        share_low=interval.low,
    )
    if not seen_now:
        status = Status.NOT_SEEN if needed else Status.RESOLVED
    elif expected:
        status = Status.EXPECTED
    elif first is last:
        status = Status.NEW
    else:
        status = Status.RARE if interval.high <= RARE_BELOW else Status.ONGOING
    return Finding(
        experiment=experiment,
        name=name,
        status=status,
        first=first.label,
        last=last.label,
        hits=hits,
        runs=runs,
        low=interval.low,
        high=interval.high,
        since=since,
        needed=needed,
        before=sum(one.could_show(name) for one in judging[: showing[0]]),
        example=last.example.get(name, ""),
        note=note,
    )


def chance_of_none(hits: int, runs: int, since: int) -> float:
    """Return how often none of ``since`` runs has any of the ``hits`` that ``runs`` and they have together, dealt at
    random.

    This is the one-sided test of Fisher for a table with a zero.
    """
    chance = 1.0
    for taken in range(hits):
        chance *= (runs - taken) / (runs + since - taken)
    return chance


def _enough(hits: int, runs: int) -> int:
    """The least number of runs without it that chance alone explains in less than ``CHANCE_BELOW``."""
    least, most = 0, 1
    while chance_of_none(hits, runs, most) >= CHANCE_BELOW:
        least, most = most, 2 * most
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if chance_of_none(hits, runs, middle) >= CHANCE_BELOW else (least, middle)
    return most
