"""Checkers: they read a run's history and say which promises were kept.

Read first: ``zonelab.analysis.checkers.verdict`` (valid, invalid, unknown), then ``queue`` for messages or
``consistency`` for registers, sets, locks and counters.
"""
