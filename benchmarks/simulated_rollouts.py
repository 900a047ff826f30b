"""Right answers, for the right reasons, of simulated rollouts, beside the truth that they are held against.

    python benchmarks/simulated_rollouts.py [--seeds 20] [--first 1]
    python benchmarks/simulated_rollouts.py --truth [--runs 60]

The four rollouts of ``tests/support/studies/rollouts``: only the outage of a zone decides; only the lease; an interval
of ``per_year`` that flips the recommendation; a tie. Each is evaluated with so many seeds, and should be right with 19
of 20. ``--truth`` makes so many unthinned runs of each kind and setting, of other seeds, and writes ``truth.json``.
"""

import argparse
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.studies.simulated_rollouts import SIMULATED, TRUTH, told  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--truth", action="store_true")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--only", choices=SIMULATED, default=None)
    asked = parser.parse_args()
    chosen = {name: one for name, one in SIMULATED.items() if asked.only in (None, name)}
    if asked.truth:
        known = json.loads(TRUTH.read_text(encoding="utf-8")) if TRUTH.exists() else {}
        known |= {name: told(one.true_rates(asked.runs), asked.runs) for name, one in chosen.items()}
        TRUTH.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        return
    for name, one in chosen.items():
        begin_s, seeds = time.process_time(), range(asked.first, asked.first + asked.seeds)
        wrong = [seed for seed in seeds if not one.is_right(one.answer(seed))]
        each_s = (time.process_time() - begin_s) / asked.seeds
        right = f"right with {asked.seeds - len(wrong)} of {asked.seeds} seeds"
        print(f"{name}: {right}, {each_s:.1f} s of a processor each; wrong: {wrong or 'none'}", flush=True)


if __name__ == "__main__":
    main()
