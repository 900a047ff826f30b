"""A file of settings for a process: JSON, one object."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from zonelab.cluster.zone import ClusterError

Settings = TypeVar("Settings", bound=BaseModel)


def read_settings(
    kind: type[Settings], path: Path, *, what: str, complete: Callable[[Settings], Settings] = lambda settings: settings
) -> Settings:
    """Raises ``ClusterError``, in one line, with each thing that is wrong.

    ``what`` they are called there. ``complete`` adds what comes from elsewhere, and may be refused in the same way.
    """
    try:
        return complete(kind.model_validate_json(path.read_bytes()))
    except OSError as error:
        raise ClusterError(f"{what} {path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        wrong = "; ".join(_said(one) for one in error.errors())
        raise ClusterError(f"{what} {path}: {wrong}") from error


def _said(wrong: Any) -> str:
    where = ".".join(map(str, wrong["loc"]))
    return f"{where}: {wrong['msg']}" if where else str(wrong["msg"])
