"""The scenarios that come with zonelab: files that are read when one is asked for."""

from pathlib import Path

LIBRARY = Path(__file__).parents[1] / "library"


def library_names() -> list[str]:
    return sorted(path.stem for path in LIBRARY.glob("*.yaml"))
