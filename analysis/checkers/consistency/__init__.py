"""Checkers of registers, sets, locks, counters and lists: linearizability, staleness, sessions, divergence.

Read first: ``analysis.checkers.consistency.verdict`` (the anomalies), ``analysis.checkers.consistency.consistency``
(which checker looks at what), then ``analysis.checkers.consistency.linear``. docs/consistency.md names the papers.
"""
