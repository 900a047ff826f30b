"""Administration of a running coordinator over HTTP: what it does, how fast, and how its links are to be.

Read first: ``zonelab.cluster.admin.app`` (the paths) and ``zonelab.cluster.admin.links`` (the one way to change links);
docs/cluster.md lists the paths for users. ``python -m zonelab.cluster.admin`` is a coordinator with its administration.
On top of all of ``cluster``.
"""
