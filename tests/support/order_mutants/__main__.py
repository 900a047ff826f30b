"""Search for small runs that show the bugs: see the package."""

import argparse
import sys

import yaml
from support.order_mutants.mutants import MUTANTS, SEEDS_MAX, STORE, small_run, stored


def main() -> None:
    parser = argparse.ArgumentParser(prog="order_mutants", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MUTANTS))
    known = stored() if STORE.exists() else {}
    for name in parser.parse_args().names:
        mutant = MUTANTS[name]
        run = small_run(mutant)
        if run is None:
            sys.exit(f"{name}: no small run among seeds 1 to {SEEDS_MAX}")
        seed, known[name] = run
        faults = ", ".join(f"`{fault.kind}`" for fault in known[name].faults) or "none"
        operations = len(known[name].load.operations or ())
        sys.stdout.write(f"| {name} | {mutant.breaks} | {mutant.faults}, {seed} | {faults} | {operations} |\n")
        sys.stdout.flush()
    documents = {name: known[name].model_dump(mode="json", exclude_defaults=True) for name in MUTANTS if name in known}
    STORE.write_text(yaml.safe_dump(documents, sort_keys=False, width=120), encoding="utf-8")


if __name__ == "__main__":
    main()
