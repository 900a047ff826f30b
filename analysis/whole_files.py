"""Files that are written whole or not at all, also if the disk is full or the program is killed."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which becomes ``path`` at the end if nothing was raised. An ``OSError`` names
    ``path``.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        partial.unlink(missing_ok=True)  # it may be a link, which would be followed
        yield partial
        partial.replace(path)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> Path:
    """Write ``path``, in a folder that is made if need be, and return it. Raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return path


def write_json(path: Path, value: Mapping[str, Any]) -> Path:
    """Write ``path`` and return it. Raises ``OSError``."""
    with whole(path) as partial:
        partial.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
