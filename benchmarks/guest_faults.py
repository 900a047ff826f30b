"""Makes docs/guests.md: what becomes of the jobs of unmodified queues without a fault, or when a zone or worker dies.

    python benchmarks/guest_faults.py [--only celery ...] [--runs 3] [--at-once 2]

Every guest of TAKES runs with its own producer, at two levels. Its rows are kept in docs/guests.json, so that one guest
can be measured again; the page is made of all rows. --only with no name makes the page only.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from environment import environment

from zonelab.analysis.summary.result import Result
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.guests.environments import environment_of
from zonelab.scenarios.guests.guest import load_guest
from zonelab.scenarios.run.on_servers import run_on_servers
from zonelab.scenarios.run.simulated import NullWatcher
from zonelab.scenarios.spec.fault_words import faults_in_words
from zonelab.scenarios.spec.reading import scenario_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guests.md"
KEPT = PAGE.with_suffix(".json")
LEVELS = ("DC_ONE", "DC_QUORUM")
TAKES = {
    "arq": "PSETEX arq:in-progress:*",
    "asynq": "EVALSHA * 4 asynq:{default}:pending",
    "bee-queue": "BRPOPLPUSH *",
    "bullmq": "EVALSHA * 11 bull:default:wait",
    "celery": "BRPOP *",
    "dramatiq": "EVALSHA * * * fetch",
    "dyno-queues": "ZADD guest.UNACK.jobs.a nx",
    "huey": "BRPOP *",
    "jedis-lists": "BLMOVE waiting",
    "rq": "BLMOVE rq:queue:*",
    "saq": "BLMOVE *",
    "streams": "XREADGROUP *",
    "taskiq": "XREADGROUP *",
}
"""Command by which a worker of the queue takes a job."""
CASES = {
    "no fault": ("a", 2, None),
    "no fault, workers in all zones": ("all", 1, None),
    "zone b dies for 4 s": ("a", 2, "kill b restart warm at 1s for 4s"),
    "a worker dies as it takes a job": (
        "a",
        2,
        "program_kill worker zone a at-command 5 at '{take}' nonempty true when applied at 50ms for 15s",
    ),
}
"""By name: zone of the workers, how many in each of its zones, and what is broken."""
QUIET_S = {"arq": 3, "asynq": 180, "celery": 9, "dramatiq": 8, "huey": 3, "saq": 17, "streams": 5, "taskiq": 6}
"""Longer than a queue of that name may be silent before it takes up what a dead worker had."""
TWICE = ("resurrected", "redelivered", "concurrent")
LEFT = ("lost", "abandoned", "stuck", "undecided")
HEAD = """# Guests under faults

What becomes of the jobs of queues that come with zonelab as [guests](programs.md#guests), each as its authors ship it.
The producer is in zone a of three zones with a lag of 1 ms; a job takes 50 ms. Two workers are in zone a or, where the
case says so, one in each zone.

| queue | version | case | level | verdicts | one job every | jobs | lost | abandoned | stuck | undecided | again |
|---|---|---|---|---|---|---|---|---|---|---|---|"""
TAIL = """
Sums over the runs of a row, of which there are as many as verdicts; see [classes](verdicts.md). *Again*: begun once
more, before its end or after. The zone dies 1 s after the producer has been started, whose own start takes
part of that second. A worker dies by SIGKILL at the fifth command that has given it a job, before the reply comes, and
is started again when 15 s are over; runs in which it did not come to that are left out. In the rows of asynq a refused
first EVALSHA counted as one of the five.

`python benchmarks/guest_faults.py` makes this page from `docs/guests.json`, which has the counts of each run. The rows
of 29 and 30 November 2026 were measured in several batches, between which the script grew, on a machine of two
processors that did much else (load averages of 6 to 57). Leases are as short as in the guests' programs (2 to 11 s; 30
s with asynq), so a queue may run jobs again only because the machine was busy. A run waits for what a dead worker had:
3 to 17 s without any event, and with asynq 95 or 180 s. Few runs show what can happen, not how often.

Traced, one run of each with `record_commands` at DC_ONE:

- **rq**, a worker dies: `BLMOVE` had put the job into `rq:queue:default:intermediate`. The restarted worker looked at
  it 9 s later and left it there. rq looks again after 10 minutes, longer than a run waits, and by its source then lets
  the job fail: it is *stuck* here.
- **asynq**, a worker dies: its job was put up for another try 74 s later and begun after 120 s. By its source that
  takes up to 169 s: a lease of 30 s, 30 s more for clocks, a look each 60 s, 15 to 44 s before the retry, a look each
  5 s. With a wait of 95 s such jobs were *stuck*.
- **bullmq**, **bee-queue**, **jedis-lists**, a worker dies: its job was begun 2.5, 5.5 and 14 s after the push, by
  whoever saw that the lock was gone or the job stalled, or by the restarted worker.
- **jedis-lists** and **rq**, workers in all zones: two zones gave one job to two workers, and each of the two moves,
  when it came to the other zones, took the next job there. That one is *stuck*: with jedis-lists among the active jobs
  of worker b in zones a and c and of worker c in zone b, with rq in the intermediate list, and nobody had been given
  it.
- **bee-queue**, workers in all zones: `BRPOPLPUSH` gave one job to two workers.
- **dyno-queues**, workers in all zones: `ZADD … NX`, the claim, was answered 1 in two zones, 0.3 ms apart, so two
  workers held one message. At DC_QUORUM no run had that.

The causes below are what the sources of the queues say; no run was traced for them.

- **Workers in all zones** are more than these queues are made for: each zone carries out a take by itself, so two zones
  may give one job to two workers, and a job that one zone has given out is gone from another.
- **streams** and **taskiq**: `XADD` with `*` lets each server make an id of its own, so
  [no two zones agree](resp.md#queues-of-others) on what an `XACK` means.
- **celery** and **huey** take a job with `BRPOP`: it is lost if the worker dies before the reply has come, whatever is
  set about acknowledging late.
- **saq** ran single jobs again without any fault, too. That fits a
  [report](https://github.com/tobymao/saq/issues/277): a sweep takes a job for stuck whose worker has not yet written
  that it is active.
"""
JOBS, WORK_MS, GAP_MS, OTHERS_QUIET_S, DRAIN_S = 100, 50, 50, 10, 40


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One run: how many jobs were accepted, and what became of them; None if the lab failed."""

    accepted: int = 0
    verdict: str = "failed"
    counts: dict[str, int] | None = None
    reasons: tuple[str, ...] = ()
    hit: bool = True


@dataclass(frozen=True, kw_only=True)
class Row:
    """All runs of a guest at a level in a case."""

    guest: str
    version: str
    level: str
    case: str
    date: str
    gap_ms: int
    runs: list[Tried]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", nargs="*", metavar="GUEST", help="guests to be measured again; none: only the page")
    options.add_argument("--runs", type=int, default=3, help="runs of each row")
    options.add_argument("--at-once", type=int, default=2, help="runs at the same time")
    given = options.parse_args()
    names = list(TAKES) if given.only is None else given.only
    for name in names:
        keep(measured(name, seeds=range(1, given.runs + 1), at_once=given.at_once))
    PAGE.write_text(page(kept()), encoding="utf-8")


def measured(name: str, *, seeds: Sequence[int], at_once: int) -> Iterable[Row]:
    guest = load_guest(name)
    environment_of(guest)
    cells = [(level, case) for level in LEVELS for case in CASES]
    with ProcessPoolExecutor(at_once, mp_context=get_context("spawn")) as pool:
        futures = {cell: [pool.submit(tried, name, *cell, seed) for seed in seeds] for cell in cells}
        for (level, case), runs in futures.items():
            found = [run.result() for run in runs]
            date = str(environment()["date_utc"])
            yield Row(guest=name, version=guest.version, level=level, case=case, date=date, gap_ms=GAP_MS, runs=found)


def tried(name: str, level: str, case: str, seed: int) -> Tried:
    """Run the guest once and judge it."""
    zone, count, broken = CASES[case]
    quiet_s = QUIET_S.get(name, OTHERS_QUIET_S)
    env = {"JOBS": str(JOBS), "GAP_MS": str(GAP_MS), "WORK_MS": str(WORK_MS)}
    document = {
        "name": f"guest-{name}",
        "seed": seed,
        "level": level,
        "topology": {"zones": ["a", "b", "c"]},
        "links": {"lag": "1ms"},
        "load": {"duration_s": 60},
        "programs": {
            "producer": {"guest": name, "role": "producer", "zone": "a", "env": env},
            "worker": {"guest": name, "role": "worker", "zone": zone, "count": count, "env": env},
        },
        "faults": faults_in_words([broken.format(take=TAKES[name])] if broken else []),
        "drain": {"bound_s": max(DRAIN_S, 2 * quiet_s), "quiet_s": quiet_s},
    }
    with TemporaryDirectory() as runs:
        scenario = scenario_of(document, source=name)
        directory, record = run_on_servers(
            scenario, kind=ZoneKind.PROCESS, runs=Path(runs), watcher=NullWatcher(), command="guest_faults"
        )
        if record.status != "complete":
            return Tried(verdict=f"{record.status}: {record.error}")
        result = Result.examined(directory, title=level)
        strikes = [strike.get("hit") for one in record.programs.values() for strike in one.get("strikes", ())]
        counts = {str(each): count for each, count in result.verdict.counts.items() if count}
        return Tried(
            accepted=result.verdict.totals.acknowledged,
            verdict=result.words,
            counts=counts,
            reasons=tuple(result.verdict.reasons),
            hit=all(strikes),
        )


def kept() -> list[Row]:
    """Return the rows that were measured so far."""
    rows = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
    return [Row(**{**row, "runs": [Tried(**run) for run in row["runs"]]}) for row in rows]


def keep(rows: Iterable[Row]) -> None:
    """Write each of ``rows`` in place of one of the same guest, level and case as soon as it is there."""
    for new in rows:
        others = [row for row in kept() if (row.guest, row.level, row.case) != (new.guest, new.level, new.case)]
        print(
            new.guest,
            new.level,
            new.case,
            [(run.hit, run.verdict, run.accepted, run.counts) for run in new.runs],
            flush=True,
        )
        lines = ",\n".join(json.dumps(asdict(row)) for row in [*others, new])
        KEPT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def page(rows: Sequence[Row]) -> str:
    """Return the page."""
    lines = [line_of(row) for row in sorted(rows, key=lambda row: (row.guest, row.case, row.level))]
    return "\n".join([HEAD, *lines, TAIL])


def line_of(row: Row) -> str:
    """Return the line of the table for one row: sums over its runs."""
    judged = [run for run in row.runs if run.counts is not None and run.hit]
    counts = sum((Counter(run.counts) for run in judged), start=Counter[str]())
    words = Counter(run.verdict for run in judged)
    verdicts = ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
    again = sum(counts[name] for name in TWICE)
    sums = (sum(run.accepted for run in judged), *(counts[name] for name in LEFT), again)
    cells = (row.guest, row.version, row.case, row.level, verdicts, f"{row.gap_ms} ms", *map(str, sums))
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
