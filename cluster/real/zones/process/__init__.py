"""Zones as processes of this machine: which server program runs, how it starts, and its directory.

Read first: ``zonelab.cluster.real.zones.process.process``.
"""
