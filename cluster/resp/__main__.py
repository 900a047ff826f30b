"""``python -m cluster.resp --config FILE``: the coordinator of one zone with its RESP port, as a process of its own."""

import argparse
import sys
from pathlib import Path

from cluster.resp.configuration import read_configuration
from cluster.resp.process import run
from cluster.zone import ClusterError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cluster.resp", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="JSON file")
    try:
        run(read_configuration(parser.parse_args().config))
    except ClusterError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
