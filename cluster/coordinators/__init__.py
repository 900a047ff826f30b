"""Coordinators: they send a client's commands to the zones and answer as the consistency level says.

Read first: ``zonelab.cluster.coordinators.coordinator`` (what all do), ``zonelab.cluster.coordinators.plain`` (zones of
one server); ``zonelab.cluster.coordinators.token_ring`` is for zones of several servers and for several data centres.
``zonelab.cluster.coordinators.direct`` has connections past the vote, straight to one server or zone.
"""
