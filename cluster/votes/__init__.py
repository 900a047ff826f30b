"""Consistency levels and votes: which replies decide a command, and what the client gets. No input or output.

Read first: ``zonelab.cluster.votes.levels``, ``zonelab.cluster.votes.vote`` (one command),
``zonelab.cluster.votes.rules`` (which zones get it), then ``zonelab.cluster.votes.pipeline`` (several commands at
once).
"""
