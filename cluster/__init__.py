"""Zones and what stands between clients and servers: links, connections, votes, coordinators.

Read first: ``zonelab.cluster.testbed`` (what a run knows of a cluster), then ``zonelab.cluster.votes.vote`` and
``zonelab.cluster.coordinators.coordinator``; docs/replication.md says what they reproduce. What is not in ``real``,
``sim``, ``resp``, ``admin`` or ``process`` runs in both arms and asks the world through ``zonelab.engine.ports`` only.

Of the other packages it imports ``engine`` alone.
"""
