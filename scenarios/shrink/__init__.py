"""The search for the smallest run that still fails in the same way.

Read first: ``zonelab.scenarios.shrink.search`` (what shrinking is, whatever the clients do), then
``zonelab.scenarios.shrink.queue_run`` and ``zonelab.scenarios.shrink.workload_run``. May import ``run`` and what is
below it.
"""
