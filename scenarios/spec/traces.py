"""Files of recorded lags, which a scenario names as ``trace:FILE``: found beside it, and kept where it is written."""

import re
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

_TRACE = re.compile(r"\btrace:([^+]*[^+\s])")
_FOLDER = "traces"


def found_beside(document: Any, folder: Path) -> Any:
    """``document`` with each relative ``trace:FILE`` that lies in ``folder`` named from the current directory."""

    def named(file: str) -> str:
        return str(folder / file) if not Path(file).is_absolute() and (folder / file).is_file() else file

    return _renamed(document, named)


def kept_beside(document: Any, folder: Path) -> Any:
    """``document`` with each ``trace:FILE`` named from ``folder``, after it has been copied there.

    Raises ``OSError``.
    """
    copied: dict[str, str] = {}

    def named(file: str) -> str:
        if file not in copied:
            target = folder / _FOLDER / f"{len(copied) + 1}-{Path(file).name}"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            copied[file] = f"{_FOLDER}/{target.name}"
        return copied[file]

    return _renamed(document, named)


def digests(document: Any) -> list[str]:
    """Return a line for each ``trace:FILE`` of ``document``: its name and what it holds now. Raises ``OSError``."""
    files: dict[str, None] = {}

    def noted(file: str) -> str:
        files[file] = None
        return file

    _renamed(document, noted)
    return [f"{file}: {sha256(Path(file).read_bytes()).hexdigest()}" for file in files]


def by_content(document: Any) -> Any:
    """``document`` with each ``trace:FILE`` named by what the file holds now. Raises ``OSError``."""
    return _renamed(document, lambda file: sha256(Path(file).read_bytes()).hexdigest())


def _renamed(value: Any, named: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(part, named) for key, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part, named) for part in value]
    if isinstance(value, str):
        return _TRACE.sub(lambda found: f"trace:{named(found[1])}", value)
    return value
