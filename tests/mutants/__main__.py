"""``python -m mutants``: plant every mutant of the catalogue in a copy, and tell what notices it.

Exit codes: 0; 1 if a mutant lives that is known to be killed, or the score is below the recorded one; 3 if the suite
or its catalogue is at fault.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from rich.console import Console

from mutants.catalogue import AREAS, MUTANTS
from mutants.copies import Processes, SuiteError, copies
from mutants.drawn.score import DrawnScore
from mutants.mutant import CatalogueError, Mutant, plant
from mutants.report import Killers, commit, page, score, table
from mutants.suite import Plan, Suite

ROOT = Path(__file__).resolve().parents[2]
KILLERS = Path(__file__).with_name("killers.json")
PAGE = ROOT / "tests" / "mutants" / "README.md"

FAILED, BROKEN, INTERRUPTED = 1, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    console, stored, processes = (
        Console(soft_wrap=True, markup=False, highlight=False),
        Killers.read(KILLERS),
        Processes(),
    )
    mutants = _chosen(options.only)
    begin_s = monotonic()
    try:
        for mutant in mutants:
            plant(mutant, ROOT)
        plan = Plan(
            mutants=mutants,
            killers=stored.killers,
            limited=not options.all,
            reach_path=options.reach,
        )
        with TemporaryDirectory(prefix="zonelab-mutants-") as folder:
            made = copies(ROOT, Path(folder), options.jobs, processes)
            killed = Suite(plan, made, told=console.print).killed()
    except (SuiteError, CatalogueError) as error:
        console.print(f"error: {error}")
        return BROKEN
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        processes.end_all()
    console.print(table(mutants, killed))
    reached = score(len(killed), len(mutants))
    console.print(f"{len(killed)} of {len(mutants)} killed, {reached:.1%}, in {monotonic() - begin_s:,.0f} s")
    if options.all or options.record:
        found = stored.updated(mutants, killed, catalogue=MUTANTS)
        found.write(KILLERS)
        told = page(
            found, asked=len(mutants), date=f"{datetime.now(UTC):%Y-%m-%d}", commit=commit(), drawn=DrawnScore.read()
        )
        PAGE.write_text(told, encoding="utf-8")
    risen = [mutant.id for mutant in mutants if stored.killers.get(mutant.id) and mutant.id not in killed]
    if risen:
        console.print(f"known to be killed, and alive: {', '.join(risen)}")
    fallen = mutants == MUTANTS and reached < stored.score
    if fallen:
        console.print(f"the score was {stored.score:.1%}")
    return FAILED if risen or fallen else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description="Which small faults would nobody notice?")
    parser.add_argument("--all", action="store_true", help="without limits; records as well")
    parser.add_argument("--record", action="store_true", help="write killers.json and tests/mutants/README.md")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--only", nargs="+", default=(), metavar="AREA|ID", help="these areas and mutants")
    parser.add_argument("--reach", type=Path, help="a folder that keeps which tests run which lines")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.only if name not in AREAS and all(name != one.id for one in MUTANTS)]
    if unknown:
        parser.error(f"--only: got {', '.join(map(repr, unknown))}; accepted: ids of mutants, and {', '.join(AREAS)}")
    return options


def _chosen(names: Sequence[str]) -> tuple[Mutant, ...]:
    if not names:
        return MUTANTS
    return tuple(one for area, mutants in AREAS.items() for one in mutants if area in names or one.id in names)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
