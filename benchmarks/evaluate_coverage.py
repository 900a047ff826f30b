"""Coverage of the truth by the intervals of ``zonelab evaluate``, and answers to planted rollouts.

    python benchmarks/evaluate_coverage.py [--evaluations 1000] [--seeds 20] [--seed 1]

First made-up evaluations with clustered faults, kinds of runs without a case, and up to five looks that end early: how
many nominal 95 % intervals have the truth (93 to 98.5 % are wanted), how wide they are beside those of an oracle that
knows how cases cluster (at most 1.5 times), and how many intervals by message have it (below 85 %: messages are no
units). How many upper ends are above the truth where at least five cases are expected (93 %), and how many evaluations
call an objective met that is not (at most 5 %), with bounds of 0.5 to 2 times the truth. Then each planted rollout with
so many seeds: how often the answer and its reasons are right (19 of 20).
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.analysis.made_up_evaluations import evaluated  # noqa: E402
from support.analysis.planted_rollouts import ROLLOUTS  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    found = [evaluated(np.random.default_rng([asked.seed, number])) for number in range(asked.evaluations)]
    inside, by_message = (np.mean([getattr(one, name) for one in found]) for name in ("truth_inside", "by_message"))
    wide = np.mean([one.width / one.oracle_width for one in found if one.oracle_width])
    print(f"{len(found):,} evaluations: {inside:.1%} of the intervals have the truth, by message {by_message:.1%}")
    upper = [one.below_upper for one in found if one.below_upper is not None]
    print(f"{np.mean(upper):.1%} of {len(upper):,} upper ends with five cases expected are above the truth")
    print(f"{np.mean([one.wrongly_met for one in found]):.1%} of the evaluations call met what is not")
    print(f"they are {wide:.2f} times as wide as the oracle's, on average")
    for name, rollout in ROLLOUTS.items():
        right = sum(rollout.is_right(rollout.decided(seed)) for seed in range(asked.seed, asked.seed + asked.seeds))
        print(f"{name}: right with {right} of {asked.seeds} seeds")


if __name__ == "__main__":
    main()
