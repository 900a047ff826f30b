"""Table 4 of Bailis et al., VLDB 2012: three replicas, 99.9 % of reads, writes and of consistent reads, in ms."""

from collections.abc import Mapping
from dataclasses import dataclass

REPLICAS = 3
PROBABILITY = 0.999

STEPS_MS: Mapping[str, float] = {"lnkd-ssd": 0.01, "lnkd-disk": 0.1, "ymmr": 1.0, "ymmr-3.35": 1.0, "wan": 0.1}
"""By model: the resolution of the published t, so how far apart the authors looked."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """``visible_ms``: t after which a read is consistent with ``PROBABILITY``."""

    read_ms: float
    write_ms: float
    visible_ms: float


_YMMR = {
    (1, 1): PublishedRow(5.58, 10.83, 1364.0),
    (1, 2): PublishedRow(5.61, 427.12, 1352.0),
    (2, 1): PublishedRow(32.6, 10.73, 202.0),
    (2, 2): PublishedRow(33.18, 428.11, 0.0),
    (3, 1): PublishedRow(219.27, 10.79, 0.0),
    (1, 3): PublishedRow(5.63, 1870.86, 0.0),
}

TABLE: Mapping[str, Mapping[tuple[int, int], PublishedRow]] = {
    "lnkd-ssd": {
        (1, 1): PublishedRow(0.66, 0.66, 1.85),
        (1, 2): PublishedRow(0.66, 1.63, 1.79),
        (2, 1): PublishedRow(1.63, 0.65, 0.0),
        (2, 2): PublishedRow(1.62, 1.64, 0.0),
        (3, 1): PublishedRow(4.14, 0.65, 0.0),
        (1, 3): PublishedRow(0.65, 4.09, 0.0),
    },
    "lnkd-disk": {
        (1, 1): PublishedRow(0.66, 10.99, 45.5),
        (1, 2): PublishedRow(0.65, 20.97, 43.3),
        (2, 1): PublishedRow(1.63, 10.9, 13.6),
        (2, 2): PublishedRow(1.64, 20.96, 0.0),
        (3, 1): PublishedRow(4.12, 10.89, 0.0),
        (1, 3): PublishedRow(0.65, 112.65, 0.0),
    },
    "ymmr": _YMMR,
    "ymmr-3.35": _YMMR,
    "wan": {
        (1, 1): PublishedRow(3.4, 55.12, 113.0),
        (1, 2): PublishedRow(3.4, 167.64, 0.0),
        (2, 1): PublishedRow(151.3, 56.36, 30.2),
        (2, 2): PublishedRow(151.31, 167.72, 0.0),
        (3, 1): PublishedRow(153.86, 55.19, 0.0),
        (1, 3): PublishedRow(3.44, 241.55, 0.0),
    },
}
"""By model and (R, W). The paper has one row of YMMR, to which both shapes are compared."""
