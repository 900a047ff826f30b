"""Compares the model with a real server by any number of drawn commands, and prints the smallest program that differs.

``PYTHONPATH=tests python tests/conformance/compare_commands.py --commands 1000000 --protocol 3 --seed 1``
"""

import argparse
import sys
import time
from functools import partial

from support.cluster.command_differ import Differ, WireClient, compare
from support.cluster.command_families import Commands
from support.cluster.command_table import MODELLED
from support.cluster.event_differ import EventDiffer, Listener
from support.cluster.redis_pair import real_server


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", type=int, default=100_000)
    parser.add_argument("--protocol", type=int, choices=(2, 3), default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", help="one family, or 'mixed'; all in turn if it is not given")
    parser.add_argument("--events", help="compare the events of keys as well, with this notify-keyspace-events")
    asked = parser.parse_args()
    with real_server() as server:
        wire, differ = WireClient(server.address, protocol=asked.protocol), Differ
        if asked.events is not None:
            differ = partial(EventDiffer, listener=Listener(server.address), flags=asked.events)
        differ = differ(wire, protocol=asked.protocol)
        began = time.monotonic()
        found = compare(differ, Commands(modelled=MODELLED), seed=asked.seed, count=asked.commands, family=asked.family)
        took = time.monotonic() - began
    sys.stdout.write(f"{differ.executed:,} commands in {took:.1f} s, {differ.executed / took:,.0f} a second\n")
    if asked.events is not None:
        sys.stdout.write(f"{differ.events:,} events of {len(differ.kinds)} names\n")
    if found is not None:
        sys.stdout.write(f"{found}\n")
    return int(found is not None)


if __name__ == "__main__":
    sys.exit(main())
