"""The consistency lab: clients of registers, sets, locks, counters and lists on a cluster, in place of a queue.

Read first: ``zonelab.scenarios.consistency.operations`` (what each operation is in Redis),
``zonelab.scenarios.consistency.clients``, then docs/consistency.md.
"""
