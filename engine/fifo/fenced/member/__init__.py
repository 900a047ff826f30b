"""What a member does differently where partitions are fenced. Read first: ``tenures``, then ``results``."""
