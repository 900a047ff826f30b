"""Measure what thinning leaves as it is: figures of runs as they are, beside those of thinned ones.

``python benchmarks/thinning.py ROLLOUT.yaml [K] [RUNS] [PATH=VALUE …]`` makes ``RUNS`` (4) runs without a fault of the
first setting of a rollout, runs thinned by ``K`` (40) for as many messages, and prints, of medians and of redelivered
messages, the relative difference with Student's 95 % interval; of other figures, both.

``python benchmarks/thinning.py six [K] [RUNS]`` does so (by 6, 4 runs) with six loads of rollout-120.yaml, a tenth as
long and as large, of other levels, modes, engines, lags and persistence, and tells of each whether medians are within
5 % and whether the difference of p99(push) and p99(ack) may be none.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.objectives import TimedOperation
from zonelab.analysis.rates.outcomes import times_s
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.spec.thinning import thinned
from zonelab.studies.evaluate.one_run import measured
from zonelab.studies.evaluate.rollout import Rollout

SURVIVE = (TimedOperation.PUSH, TimedOperation.LEASE, TimedOperation.ACK)
CASES = ("redelivered", "abandoned", "concurrent")

TENTH = Path(__file__).with_name("rollout-120.yaml")
TENTH_AS_LONG = (
    "load.duration_s=10",
    "load.rate_per_s=12",
    "consumers.per_zone=24",
    "consumers.processing=0.95*lognormal:150ms:300ms + 0.05*constant:4s",
    "queue.unack_ms=3000",
    "queue.unack_interval_ms=750",
    "drain.bound_s=16",
)
SIX = (
    ("level=DC_ONE", "queue.mode=default"),
    ("level=DC_QUORUM", "queue.mode=default"),
    ("level=DC_QUORUM", "queue.mode=hardened"),
    ("level=DC_SAFE_QUORUM", "queue.mode=hardened", "persistence=aof-always"),
    ("level=DC_QUORUM", "queue.engine=dyno-v2", "links.lag=lognormal:2ms:6ms", "links.overrides={}"),
    ("level=DC_EACH_SAFE_QUORUM", "queue.mode=hardened", "load.rate_per_s=16", "consumers.per_zone=36"),
)
WITHIN = 0.05


def runs_of(scenario: Scenario, count: int, first: int) -> tuple[list[Observation], float]:
    """Return what ``count`` runs show, and their messages a second of processor time."""
    begin_s = time.process_time()
    found = [measured(attempt(scenario.model_copy(update={"seed": first + number}))) for number in range(count)]
    return found, sum(one.begun for one in found) / (time.process_time() - begin_s)


def grouped(runs: list[Observation], size: int) -> Iterator[list[Observation]]:
    """Yield thinned runs in groups that have about as many messages as one run as it is."""
    yield from (runs[begin : begin + size] for begin in range(0, len(runs), size))


def quantile_ms(runs: Sequence[Observation], operation: TimedOperation, part: float) -> float:
    return float(np.quantile(np.concatenate([times_s(one, operation) for one in runs]), part, method="lower")) * 1e3


def differs(whole: Sequence[float], thin: Sequence[float]) -> tuple[float, float, float]:
    """Return by how much of the former the latter are more, with its 95 % interval (Welch)."""
    one, two = np.array(whole), np.array(thin)
    found = stats.ttest_ind(two, one, equal_var=False).confidence_interval()
    return tuple(float(end) / one.mean() for end in (two.mean() - one.mean(), found.low, found.high))


def six(k: int, count: int) -> None:
    """Print a line for each of six loads."""
    right = 0
    for words in SIX:
        scenario = load_scenario(str(TENTH), overrides=[*TENTH_AS_LONG, *words, "arm=sim"])
        made = thinned(scenario, k)
        whole, _ = runs_of(scenario, count, 1)
        thin, _ = runs_of(made.scenario, count * round(made.factor), 1_000_001)
        every = [[one] for one in whole], list(grouped(thin, round(made.factor)))
        lines, fine = [], True
        for name, part in [*((name, 0.5) for name in SURVIVE), *((name, 0.99) for name in SURVIVE[::2])]:
            one, other = ([quantile_ms(group, name, part) for group in groups] for groups in every)
            if min(one) == max(one) == 0:
                continue
            off, low, high = differs(one, other)
            fine = fine and (abs(off) < WITHIN if part == 0.5 else low <= 0 <= high)
            lines.append(f"p{part * 100:g}({name}) {np.mean(one):.3g} ms {off:+.1%} ({low:+.1%} to {high:+.1%})")
        right += fine
        sizes = " and ".join(f"{sum(run.begun for run in runs):,}" for runs in (whole, thin))
        print(f"{' '.join(words)}: {sizes} messages; {'as it is' if fine else 'MOVES'}", *lines, sep="\n  ", flush=True)
    print(f"{right} of {len(SIX)} within {WITHIN:.0%} in medians, with a p99 that may be the same")


def compared(name: str, whole: Sequence[float], thin: Sequence[float], unit: str) -> str:
    """Return both means, and by how much the thinned ones differ (Welch)."""
    one, two = np.array(whole), np.array(thin)
    told = f"{name:12} {one.mean():9.3g} {two.mean():9.3g} {unit:2}"
    if len(one) < 2 or not one.mean() or one.std() + two.std() < 1e-9:
        return told
    test = stats.ttest_ind(two, one, equal_var=False).confidence_interval()
    return (
        f"{told}  {(two.mean() / one.mean() - 1):+.1%} ({test.low / one.mean():+.1%} to {test.high / one.mean():+.1%})"
    )


def main() -> None:
    path, words = sys.argv[1], sys.argv[2:]
    numbers = [int(word) for word in words if word.isdigit()]
    if path == "six":
        six(*(*numbers, *(6, 4)[len(numbers) :]))
        return
    k, count = (*numbers, *(40, 4)[len(numbers) :])
    setting = Rollout.load(path, overrides=[word for word in words if "=" in word]).settings[0]
    made = thinned(setting.scenario, k)
    size = round(made.factor)
    whole, whole_pace = runs_of(setting.scenario, count, 1)
    thin, thin_pace = runs_of(made.scenario, count * size, 1_000_001)
    groups = list(grouped(thin, size))
    print(f"{path}, {setting.name}: thinned by {made.factor:.3g}, {count} runs, {len(thin)} thinned")
    print(f"messages     {sum(one.begun for one in whole):9,} {sum(one.begun for one in thin):9,}")
    print(f"a CPU-second {whole_pace:9.0f} {thin_pace:9.0f}")
    for name in SURVIVE:
        medians = [[quantile_ms(group, name, 0.5) for group in every] for every in ([[one] for one in whole], groups)]
        print(compared(f"p50({name})", medians[0], medians[1], "ms"))
    tails = [[quantile_ms(group, TimedOperation.PUSH, 0.99) for group in e] for e in ([[one] for one in whole], groups)]
    print(compared("p99(push)", tails[0], tails[1], "ms"))
    for case in CASES:
        rates = [
            [sum(one.counts.get(case, 0) for one in group) / sum(one.begun for one in group) for group in every]
            for every in ([[one] for one in whole], groups)
        ]
        print(compared(case, rates[0], rates[1], ""))


if __name__ == "__main__":
    main()
