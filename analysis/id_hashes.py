"""Hashes of message ids: the same in every process, on every machine and in every version of the libraries."""

from collections.abc import Iterable

import mmh3
import numpy as np
from numpy.typing import NDArray


def id_hashes(ids: Iterable[str], *, count: int) -> NDArray[np.int64]:
    """Murmur3 of each of ``count`` ids, as a signed number of 32 bits."""
    return np.fromiter(map(mmh3.hash, ids), dtype=np.int64, count=count)
