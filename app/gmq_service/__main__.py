"""``python -m zonelab.app.gmq_service [--config FILE] [--compat]``: the program that ``zonelab gmq start``
starts.
"""

import argparse
import os
import sys
from pathlib import Path

from zonelab.app.gmq_service.conf_ini import TOKEN_VARIABLE, read_settings
from zonelab.app.gmq_service.process.program import run, tell_starter
from zonelab.cluster.zone import ClusterError

FAILED = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m zonelab.app.gmq_service", description=__doc__)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--compat", action="store_true")
    parser.add_argument("--foreground", action="store_true", help="its console is there for its log")
    given = parser.parse_args()
    try:
        settings = read_settings(given.config, compat=given.compat, token=os.environ.get(TOKEN_VARIABLE) or None)
        return 0 if run(settings, console=given.foreground, ready=tell_starter) else FAILED
    except ClusterError as error:
        print(f"zonelab: {error}", file=sys.stderr)  # noqa: T201 (what the starter reads)
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
