"""Votes by version and anti-entropy: writes carry a version, and in every zone the newest wins.

Read first: ``zonelab.cluster.options.versions.clock`` (who is newer), ``zonelab.cluster.options.versions.coordinator``
(votes), then ``zonelab.cluster.options.versions.anti_entropy`` (zones compared in the background).
"""
