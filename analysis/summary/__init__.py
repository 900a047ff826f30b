"""The figures of one run, and what they say in sentences.

Read first: ``zonelab.analysis.summary.run_summary``.
"""
