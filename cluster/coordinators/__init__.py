"""Coordinators: they send a client's commands to the zones and answer as the consistency level says.

Read first: ``cluster.coordinators.coordinator`` (what all do), ``cluster.coordinators.plain`` (zones of one server);
``cluster.coordinators.token_ring`` is for zones of several servers and for several data centres.
``cluster.coordinators.direct`` has connections past the vote, straight to one server or zone. May import ``votes`` and
what is below them.
"""
