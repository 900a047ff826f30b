"""Builds links, connections and coordinators out of settings, the same in both arms.

Read first: ``zonelab.cluster.wiring.settings``, then ``zonelab.cluster.wiring.network``.
"""
