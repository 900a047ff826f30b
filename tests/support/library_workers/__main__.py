"""Prints what becomes of the jobs of each library: over seeds, those not carried out and those carried out again."""

import logging
import sys

from support.library_workers.libraries import NAMES, library
from support.library_workers.story import JOBS, outcome

SEEDS = range(1, 11)
ARRANGEMENTS = ((("a",), "DC_ONE"), (("a", "b", "c"), "DC_ONE"), (("a", "b", "c"), "DC_QUORUM"))

logging.disable(logging.ERROR)
for name in sys.argv[1:] or NAMES:
    for zones, level in ARRANGEMENTS:
        found = [outcome(library(name), zones=zones, level=level, seed=seed) for seed in SEEDS]
        missing, again = sum(len(one.missing) for one in found), sum(one.again for one in found)
        where = f"{name}, {len(zones)} zones, {level}"
        sys.stdout.write(f"{where}: of {len(found) * JOBS} jobs {missing} not carried out, {again} again\n")
