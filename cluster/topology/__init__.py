"""Placement of keys: data centres, zones, nodes and their tokens.

Read first: ``zonelab.cluster.topology.topology``, then docs/topology.md. At the bottom of ``cluster``: imports little.
"""
