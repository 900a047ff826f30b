"""The first screen of a report: what happened, when and where, why, and what to do next.

Read first: ``zonelab.analysis.first_screen.answers``.
"""
