"""Options of coordinators beyond Dynomite's defaults: hinted handoff, read repair, votes by version, anti-entropy.

All are off unless settings ask for them. Read first: docs/topology.md, then ``zonelab.cluster.options.hinted_handoff``
(a channel around a channel) and ``zonelab.cluster.options.rewriting`` (a coordinator that sends other commands than it
was given).
"""
