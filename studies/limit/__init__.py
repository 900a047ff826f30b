"""The throughput limit: up to which rate zones keep up with an open loop.

Read first: ``zonelab.studies.limit.search``.
"""
