"""The search for the smallest run that still fails in the same way.

Read first: ``zonelab.studies.shrink.search`` (what shrinking is, whatever the clients do), then
``zonelab.studies.shrink.queue_run`` and ``zonelab.studies.shrink.workload_run``.
"""
