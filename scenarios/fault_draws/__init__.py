"""Draws of a seed: which faults, where and when; and the classes of faults that the studies go through.

Read first: ``zonelab.scenarios.fault_draws.swarm``. The same scenario and seed give the same draw, everywhere and
always.
"""
