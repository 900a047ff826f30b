"""The search for the smallest run that still fails in the same way.

Read first: ``scenarios.shrink.search`` (what shrinking is, whatever the clients do), then
``scenarios.shrink.queue_run`` and ``scenarios.shrink.workload_run``. May import ``run`` and what is below it.
"""
