"""Many runs: one way in which hunts, matrices, ablations and sweeps make theirs, wherever that is.

Read first: ``zonelab.studies.many_runs.run_all``. A task is a setting and a seed. What it shows depends on these
alone, so neither the number of workers nor the order in which they finish changes a result. Imports nothing of single
runs.
"""
