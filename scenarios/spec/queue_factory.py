"""A queue of the user's own, which a scenario names as ``MODULE:FUNCTION``: finding it, and its source files."""

import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_ACCEPTED = "MODULE:FUNCTION, e.g. my_queue:make_queue, where MODULE can be imported from the current directory"


def load_factory(named: str) -> Callable[..., Any]:
    """The callable that ``named`` means. The current directory is searched last: nothing
    in it hides a module of Python or of an installed package.

    Raises ``ValueError`` if there is none; its text names what was given and what is accepted.
    """
    module, colon, function = named.partition(":")
    if not (module and colon and function):
        raise ValueError(f"got {named!r}; accepted: {_ACCEPTED}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = pkgutil.resolve_name(named)
    except (Exception, SystemExit) as error:  # whatever the user's module raises while it is imported
        words = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ValueError(f"got {named!r}: not found ({words}); accepted: {_ACCEPTED}") from error
    if not callable(found):
        raise ValueError(f"got {named!r}: {function} is no function; accepted: {_ACCEPTED}")
    factory: Callable[..., Any] = found
    return factory


def sources(named: str) -> list[Path]:
    """The files that ``named`` runs, as far as they lie beside its module, or in its package: those imported so far.

    Raises ``ValueError`` as ``load_factory`` does.
    """
    load_factory(named)
    root = _file(named.partition(":")[0].partition(".")[0])
    if root is None:
        return []
    files = dict.fromkeys(file for name in list(sys.modules) if (file := _file(name)) is not None)
    return sorted(file for file in files if file.is_relative_to(root.parent) and "site-packages" not in file.parts)


def files_needed(named: str) -> dict[str, Path]:
    """Return what a machine needs to import ``named``, by the name below a folder of its path: the whole package, or
    the module and what it has imported from beside it. Nothing of installed packages. Raises ``ValueError`` as
    ``load_factory`` does.
    """
    beside = sources(named)
    root = _file(named.partition(":")[0].partition(".")[0])
    if root is None or "site-packages" in root.parts:
        return {}
    if root.name != "__init__.py":
        return {path.relative_to(root.parent).as_posix(): path for path in beside}
    package = (path for path in sorted(root.parent.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root.parents[1]).as_posix(): path for path in package}


def _file(module: str) -> Path | None:
    name = getattr(sys.modules.get(module), "__file__", None)
    return Path(name).resolve() if name is not None else None
