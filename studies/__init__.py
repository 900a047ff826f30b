"""Decisions over many runs: hunts, sweeps, limits, ablations, evaluations, and the property suites of users.

Read first: ``zonelab.studies.many_runs`` (how many runs are made, kept and resumed), then ``zonelab.studies.hunt``.
"""
