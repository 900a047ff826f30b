"""Adapters that put a queue engine under test, and the one that a scenario asks for.

Read first: ``zonelab.scenarios.queues.under_test``: what a run needs of a queue, whatever its engine. A new engine is
one module here and one entry in ``zonelab.scenarios.spec.engines``.
"""
