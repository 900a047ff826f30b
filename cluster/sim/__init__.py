"""The simulated arm: virtual time in which the seed decides everything, and servers that are models.

Read first: docs/simulation.md, then ``zonelab.cluster.sim.cluster`` (the testbed), ``zonelab.cluster.sim.runtime``
(tasks and time), ``zonelab.cluster.sim.server`` (a server process with its disk). ``redis`` is the model of the
server's commands.
"""
