"""Behaviour of a member that differs where partitions are fenced. Read first: ``tenures``, then ``results``."""
