"""Optional parts of the installation, and the answer to whoever asks for one that is missing."""

from enum import StrEnum
from importlib.util import find_spec

from zonelab.scenarios.errors import NotAccepted


class Extra(StrEnum):
    """An extra of the package, by the name that ``pip install 'zonelab[NAME]'`` has for it."""

    SPARK = "spark"
    DOCKER = "docker"
    TESTING = "testing"


_PACKAGES = {Extra.SPARK: "pyspark", Extra.DOCKER: "docker", Extra.TESTING: "hypothesis"}


def is_installed(extra: Extra) -> bool:
    """Returns true if what ``extra`` installs can be imported. Imports nothing."""
    return find_spec(_PACKAGES[extra]) is not None


def missing(extra: Extra) -> str:
    """Returns the words that say how to get ``extra``."""
    return f"needs the extra {extra}: pip install 'zonelab[{extra}]'"


def require(extra: Extra, *, asked: str) -> None:
    """Raise ``NotAccepted`` unless ``extra`` is installed. ``asked``: the words of the command line that need it."""
    if not is_installed(extra):
        raise NotAccepted(f"{asked} {missing(extra)}")
