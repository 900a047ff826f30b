"""``python -m support.gmq_kills [--mode default] [--how kill] [--rounds 300] [--seed 1]``, in ``tests/``: the
proof, as JSON.

Exit codes: 0; 1 if a lost job has no row in docs/gmq-windows.md, or a mode lost one that must not.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from datetime import UTC, datetime
from time import monotonic

from support.gmq_kills.kills import kills


def main():
    parser = argparse.ArgumentParser(prog="support.gmq_kills", description=__doc__)
    parser.add_argument("--mode", choices=["default", "compat", "hardened"], default="default")
    parser.add_argument("--how", choices=["kill", "stop"], default="kill", help="SIGKILL or SIGTERM")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin_s = monotonic()
    with tempfile.TemporaryDirectory() as folder:
        proof = kills(options.mode, options.rounds, seed=options.seed, folder=folder, how=options.how, told=_told)
        found = asyncio.run(proof)
    report = {
        **vars(options),
        "date_utc": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        "seconds": round(monotonic() - begin_s),
        "load_average": os.getloadavg(),
        "not_reached": found.not_reached,
        "hung": found.hung,
        "pushed": found.pushed,
        "confirmed": found.confirmed,
        "lost": found.lost,
        "rows": dict(sorted(found.rows.items())),
        "kills": dict(sorted(found.kills.items())),
        "unexplained": found.unexplained,
        "missing": found.missing,
        "holds": found.holds,
    }
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    return 0 if found.holds else 1


def _told(line):
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
