"""Log of a run."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOGGER = logging.getLogger("zonelab")
LOGGER.addHandler(logging.NullHandler())
"""Without a log file, as in sweeps and hunts, nothing is printed: what went wrong in a run is in its record."""


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Everything that the lab and its libraries log goes to ``path``, and nothing to the terminal."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    before, root_before = LOGGER.level, root.level
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.setLevel(before)
        root.setLevel(root_before)
        root.removeHandler(handler)
        handler.close()
