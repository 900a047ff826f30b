"""Which setting, before a rollout: runs of every setting with and without faults, put together to a year and decided.

Read first: ``zonelab.studies.evaluate.rollout``, then docs/evaluate.md; the arithmetic is ``zonelab.analysis.rates``.
"""
