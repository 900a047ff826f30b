"""What the write ``consistency`` of Elasticsearch 1.x and 2.x asks for before a write begins.

It compares how many copies of a shard are active with a number, and refuses the write after a wait (1 minute if not
set) if they are too few. It is no promise about where the write is when it ends: copies that fail meanwhile are taken
out, and the write succeeds. Sources: elastic/elasticsearch, issue 444 (one, quorum, all; with one replica a quorum is
the primary alone), and pull request 19454, which took it out of 5.0 for this reason.
"""

from enum import StrEnum


class Consistency(StrEnum):
    ONE = "one"
    QUORUM = "quorum"
    ALL = "all"


def active_needed(consistency: Consistency, *, copies: int) -> int:
    """So many of ``copies``, primary and replicas, must be active for a write to begin."""
    if consistency is Consistency.ALL:
        return copies
    return copies // 2 + 1 if consistency is Consistency.QUORUM and copies > 2 else 1
