"""Consistency levels and votes: which replies decide a command, and what the client is told. No input or output.

Read first: ``cluster.votes.levels``, ``cluster.votes.vote`` (one command), ``cluster.votes.rules`` (which zones get
it), then ``cluster.votes.pipeline`` (several commands at once). May import ``connections``, for batches and failures,
and what is below.
"""
