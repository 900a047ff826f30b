"""``python -m zonelab.cluster.resp --config FILE``: the coordinator of one zone with its RESP port, as a process of its
own.
"""

import argparse
import sys
from pathlib import Path

from zonelab.cluster.resp.gateway.configuration import read_configuration
from zonelab.cluster.resp.gateway.program import exit_code, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m zonelab.cluster.resp", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="JSON file")
    given = parser.parse_args()
    return exit_code(lambda: run(read_configuration(given.config)))


if __name__ == "__main__":
    sys.exit(main())
