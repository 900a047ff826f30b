"""Speed and memory of the linearizability checker on easy, spoilt and hard histories.

    python benchmarks/linearizability.py [--operations 100000]

Easy: what a register answered to 3, 12 and 40 clients, of one key and of a hundred, with 10 % compare-and-sets and 2 %
of the updates never answered. Spoilt: the same with one stale read in the middle, made small; far: with a read of an
early value at the very end, the worst case of making it small. Hard: equal values and refusals, where
the answer is unknown once the budget is spent. Each is measured in a process of its own. Because machines differ, times
are also given as a ratio to sorting the events, measured in the same process.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.analysis.register_histories import register_history  # noqa: E402

from zonelab.analysis.checkers.consistency.linear import RegisterOperation, RegisterStep, SearchBudget, check_register  # noqa: E402
from zonelab.analysis.checkers.consistency.linear_shrink import smallest_violation  # noqa: E402

CASES = ("easy 3 1", "easy 12 1", "easy 40 1", "easy 12 100", "spoilt 12 1", "far 12 1", "hard 40 1")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--operations", type=int, default=100_000)
    options.add_argument("--case", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.case:
        print(json.dumps(measure(given.case, given.operations)))
        return
    headings = ("case", "operations", "answer", "seconds", "ops a minute", "x sorting", "peak MB")
    print("{:28} {:>10} {:>8} {:>8} {:>13} {:>9} {:>8}".format(*headings))
    for case in CASES:
        command = [sys.executable, __file__, "--case", case, "--operations", str(given.operations)]
        report(case, json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


def measure(case: str, operations: int) -> dict[str, float | str]:
    what, clients, keys = case.split()
    random = Random(1)
    if what == "hard":
        histories = [hard_history(int(clients))]
    else:
        each = operations // int(keys)
        histories = [
            register_history(random, each, int(clients), cas_share=0.1, doubt_share=0.02) for _ in range(int(keys))
        ]
    before_mb = peak_rss_mb()
    begin = time.perf_counter()
    if what in ("spoilt", "far"):
        histories[0] = sorted(histories[0], key=lambda one: one.begin)
        spoil(histories[0], near=what == "spoilt")
        answer = f"{len(smallest_violation(histories[0]))} ops"
    else:
        answers = {check_register(history, budget=SearchBudget()).valid for history in histories}
        answer = ", ".join(str(one) for one in answers)
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    for history in histories:
        sorted([(one.begin, 0, one.id) for one in history] + [(one.end or 0, 1, one.id) for one in history])
    sorting_s = time.perf_counter() - begin
    return {
        "operations": sum(map(len, histories)),
        "answer": answer,
        "seconds": seconds,
        "sorting": seconds / sorting_s,
        "peak_mb": peak_rss_mb() - before_mb,
    }


def hard_history(writers: int) -> list[RegisterOperation]:
    """Two values over and over, and a refusal, so that every subset of the open writes is a configuration."""
    writes = [
        RegisterOperation(id=number, kind=RegisterStep.WRITE, value=number % 2, begin=number, end=1_000 + number)
        for number in range(writers)
    ]
    return [*writes, RegisterOperation(id=writers, kind=RegisterStep.DIFFERS, value=5, begin=900, end=2_000)]


def spoil(history: list[RegisterOperation], *, near: bool) -> None:
    """Let a read in the middle return a value of some hundred operations before, or one at the end the first value."""
    writes = [place for place, one in enumerate(history) if one.kind is RegisterStep.WRITE and one.end is not None]
    reads = [place for place, one in enumerate(history) if one.kind is RegisterStep.READ]
    chosen = reads[len(reads) // 2] if near else reads[-1]
    old = history[max(place for place in writes if place < chosen - 200) if near else writes[0]]
    one = history[chosen]
    history[chosen] = RegisterOperation(id=one.id, kind=one.kind, value=old.value, begin=one.begin, end=one.end)


def peak_rss_mb() -> float:
    """Peak resident memory of this process; ``getrusage`` would carry over the parent's peak."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) / 1024


def report(case: str, result: dict[str, float]) -> None:
    what, clients, keys = case.split()
    words = f"{what}, {clients} clients, {keys} key{'s' if keys != '1' else ''}"
    minute = f"{60 * result['operations'] / result['seconds']:,.0f}" if what != "hard" else "–"
    print(
        f"{words:28} {result['operations']:10,} {result['answer']:>8} {result['seconds']:8.2f} {minute:>13}"
        f" {result['sorting']:9.1f} {result['peak_mb']:8.0f}"
    )


if __name__ == "__main__":
    main()
