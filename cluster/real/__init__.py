"""The real arm: the ports on asyncio and uvloop, connections over sockets, and zones on real servers.

Read first: ``cluster.real.cluster`` (the testbed), then ``cluster.real.runtime`` and ``cluster.real.connection``.
``zones`` starts, breaks and restarts servers. May import all of ``cluster`` that runs in both arms, and nothing of
``cluster.sim``.
"""
