"""Lazy names of public modules: loaded when they are first used, so that importing a module costs nothing."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of ``module``. ``homes``: by name the module that has it, or that is it."""

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = import_module(homes[name])
        return home if homes[name] == f"{module}.{name}" else getattr(home, name)

    return load
