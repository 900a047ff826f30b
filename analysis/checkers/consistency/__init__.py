"""Checkers of registers, sets, locks, counters and lists: linearizability, staleness, sessions, divergence.

Read first: ``zonelab.analysis.checkers.consistency.anomalies`` (the anomalies),
``zonelab.analysis.checkers.consistency.consistency`` (which checker looks at what), then
``zonelab.analysis.checkers.consistency.linear``. docs/consistency.md names the papers.
"""
