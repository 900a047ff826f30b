"""``python -m mutants.drawn``: draw mutants by a seed, plant each in a copy of the project, report what notices it.

Resumes: results of files that have not changed since are kept in the folder of ``--state``. Exit codes: 0; 3 if the
tests fail without a mutant.
"""

import argparse
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from scipy.stats import binomtest

from mutants.copies import Processes, SuiteError, copies
from mutants.drawn.sample import drawn, left_out
from mutants.drawn.sites import sites
from mutants.drawn.trial import DrawnTrials, Fate, Found, Results
from mutants.reach import kept, measure
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
    open_ = [one for one in judged if results.of(one, ROOT) is None]
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
                for found in DrawnTrials(made, reach, simulations).judge(open_):
                    results.add(found)
                    console.print(f"{found.id}: {found.fate}{f' {found.killer}' if found.killer else ''}")
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
    console.print(f"\nseed {options.seed}, {len(sample)} drawn, {len(listed)} of them listed as no faults")
    for line in report(found):
        console.print(line)
    return 0


def report(found: Sequence[Found]) -> list[str]:
    """A line for all and one a package: killed without hashes, of those that tests without marks or runs reach."""
    packages = sorted({one.package for one in found})
    return [_line("all", found), *(_line(name, [one for one in found if one.package == name]) for name in packages)]


def _line(name: str, found: Sequence[Found]) -> str:
    fates = Counter(one.fate for one in found)
    killed = fates[Fate.TEST] + fates[Fate.RUN]
    reached = len(found) - fates[Fate.UNREACHED]
    if not reached:
        return f"{name}: none reached"
    interval = binomtest(killed, reached).proportion_ci(method="wilson")
    return (
        f"{name}: {killed} of {reached} killed, {killed / reached:.0%} ({interval.low:.0%} to {interval.high:.0%}); "
        f"by tests {fates[Fate.TEST]}, by runs {fates[Fate.RUN]}, by hashes alone {fates[Fate.HASHES_ALONE]}; "
        f"unreached {fates[Fate.UNREACHED]}"
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants.drawn", description="How many small faults would be noticed?")
    parser.add_argument("--seed", type=int, default=1, help="draws the mutants")
    parser.add_argument("--count", type=int, default=300, help="how many are drawn")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--state", type=Path, default=ROOT / "runs" / "mutants", help="folder that keeps results")
    return parser.parse_args(arguments)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
