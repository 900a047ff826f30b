"""The consistency lab: clients of registers, sets, locks, counters and lists on a cluster, in place of a queue."""
