"""Votes by version and anti-entropy: writes carry a version, and in every zone the newest wins.

Read first: ``cluster.options.versions.clock`` (who is newer), ``cluster.options.versions.coordinator`` (votes), then
``cluster.options.versions.anti_entropy`` (zones compared in the background).
"""
