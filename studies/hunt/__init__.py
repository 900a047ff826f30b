"""Hunting: many seeds of one scenario in simulation, and what was found, grouped.

Read first: ``zonelab.studies.hunt.seeds``, then docs/hunting.md.
"""
