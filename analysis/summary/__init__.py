"""The figures of one run: of a queue, and of a workload without one.

Read first: ``zonelab.analysis.summary.queue_summary``.
"""
