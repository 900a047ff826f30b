"""``python -m mutants.drawn``: draw mutants by a seed, plant each in a copy of the project, report what notices it.

Resumes: results of files that have not changed since are kept in the folder of ``--state``. Exit codes: 0; 3 if the
tests fail without a mutant.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from mutants.copies import Processes, SuiteError, copies
from mutants.drawn.sample import drawn, left_out
from mutants.drawn.score import DrawnScore, fates_of
from mutants.drawn.sites import sites
from mutants.drawn.trial import DrawnTrials, Fate, Results
from mutants.reach import kept, measure, unknown_tests
from mutants.report import commit
from mutants.simulated import Simulations

ROOT = Path(__file__).resolve().parents[3]
BROKEN, INTERRUPTED = 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    console, processes = Console(soft_wrap=True, markup=False, highlight=False), Processes()
    options.state.mkdir(parents=True, exist_ok=True)
    results = Results(options.state / "drawn.jsonl")
    sample = drawn(sites(ROOT), seed=options.seed, count=options.count)
    listed = [one for one in sample if any(entry.covers(one) for entry in left_out())]
    judged = [one for one in sample if one not in listed]
    open_ = [one for one in judged if results.is_open(one, ROOT, again=options.again)]
    by_id = {one.mutant.id: one for one in sample}
    try:
        with TemporaryDirectory(prefix="zonelab-mutants-") as folder:
            made = copies(ROOT, Path(folder), options.jobs, processes)
            reach = kept(options.state)
            if open_ and reach is None:
                console.print("measuring which tests run which lines …")
                reach = measure(made[0], jobs=options.jobs, keep=options.state)
            if open_ and reach is not None:
                simulations = Simulations()
                console.print("making simulated runs without a mutant …")
                simulations.prepare(made[0])
                newer = unknown_tests(reach, made[0]) if options.again else []
                for one in DrawnTrials(made, reach, simulations, newer=newer).judge(open_):
                    results.add(one)
                    console.print(f"{one.id}: {one.fate}{f' {one.killer}' if one.killer else ''}")
    except SuiteError as error:
        console.print(f"error: {error}")
        return BROKEN
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        processes.end_all()
    found = [one for site in judged if (one := results.of(site, ROOT)) is not None]
    for one in found:
        if one.fate in (Fate.SURVIVED, Fate.HASHES_ALONE, Fate.UNREACHED):
            mutant = by_id[one.id].mutant
            console.print(f"\n{one.id}  {one.fate}\n- {mutant.old.rstrip()}\n+ {mutant.new.rstrip()}")
    made_score = DrawnScore(
        seed=options.seed,
        drawn=len(sample),
        listed=len(listed),
        commit=commit(),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        fates=fates_of(found),
        note=options.note,
    )
    console.print("\n" + "\n".join(made_score.section()))
    if options.record:
        made_score.write()
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants.drawn", description="How many small faults would be noticed?")
    parser.add_argument("--seed", type=int, default=1, help="draws the mutants")
    parser.add_argument("--count", type=int, default=300, help="how many are drawn")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--state", type=Path, default=ROOT / "runs" / "mutants", help="folder that keeps results")
    parser.add_argument("--again", action="store_true", help="try what lives once more, and against newer tests")
    parser.add_argument("--record", action="store_true", help="keep the score, which tests/mutants/README.md shows")
    parser.add_argument("--note", default="", help="what else a reader has to know of the sample")
    return parser.parse_args(arguments)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
