"""Sweeps: a scenario under any settings, each with the same seeds in simulation, compared pair by pair.

Read first: ``zonelab.studies.sweep.settings``, then docs/sweeps.md.
"""
