"""A coordinator's connections to servers and to other zones: batches, time-outs, back-off, failures.

Read first: ``zonelab.cluster.connections.server`` (one connection, in order, that fails as a whole), then
``zonelab.cluster.connections.peer`` (link out, server, link back).
"""
