"""k-staleness: how likely a read sees one of the last k versions, where all sets of replicas are equally likely."""

from math import comb


def within_versions(k: int, *, replicas: int, r: int, w: int) -> float:
    """The probability that a read returns one of the last ``k`` versions, each written to ``w`` of the replicas.

    Section 3.1 of Bailis et al., VLDB 2012: replicas that a write did not wait for never get it.
    """
    return 1 - (comb(replicas - w, r) / comb(replicas, r)) ** k
