"""Zones and what stands between clients and servers: links, connections, votes, coordinators.

Read first: ``zonelab.cluster.testbed`` (what a run knows of a cluster), then ``zonelab.cluster.votes.vote`` and
``zonelab.cluster.coordinators.coordinator``; docs/replication.md says what they reproduce. What is not in ``real``,
``sim``, ``resp``, ``admin`` or ``process`` runs in both arms and asks the world through ``zonelab.engine.ports`` only.

From the ground up, each imports what is before it: ``zone``, ``clock``, ``random_streams``; ``commands``, ``links``,
``topology``; ``connections``; ``votes``; ``coordinators``; ``options``; ``wiring``; ``testbed``; ``real`` or ``sim``;
``process``; ``resp``; ``admin``. Of the other packages it imports ``engine`` alone.
"""
