"""The real arm: the ports on asyncio and uvloop, connections over sockets, and zones on real servers.

Read first: ``zonelab.cluster.real.cluster`` (the testbed), then ``zonelab.cluster.real.runtime`` and
``zonelab.cluster.real.connection``. ``zones`` starts, breaks and restarts servers.
"""
