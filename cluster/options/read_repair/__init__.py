"""Read repair: a read that sees zones differ writes the newest value to those that are behind.

Read first: ``zonelab.cluster.options.read_repair.coordinator``; the scripts that keep versions beside the values come
with it.
"""
