"""Two runs side by side: how far they differ, and how sure that is.

Read first: ``zonelab.analysis.comparison.compare``, then docs/compare.md.
"""
