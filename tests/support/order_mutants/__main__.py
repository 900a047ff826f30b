"""Search for small runs that show the bugs: see the package."""

import argparse
import sys

from support.order_mutants.mutants import MUTANTS, SEEDS_MAX, STORE, row, small_run, store, stored


def main() -> None:
    parser = argparse.ArgumentParser(prog="order_mutants", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MUTANTS))
    runs = stored() if STORE.exists() else {}
    for name in parser.parse_args().names:
        small = small_run(MUTANTS[name])
        if small is None:
            sys.exit(f"{name}: no small run among seeds 1 to {SEEDS_MAX}")
        runs[name] = small
        store(runs)
        sys.stdout.write(f"{row(name, small)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
