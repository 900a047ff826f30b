"""The inside of the public modules of zonelab: connections, queues, clusters and runs as users hold them.

Read first: ``zonelab._face.host`` (where queues are opened), then ``queue``, ``server`` and ``cluster``.
"""
