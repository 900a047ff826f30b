"""The libraries by name."""

from importlib import import_module

from support.library_workers.story import Library

_HOMES = {
    "saq": ("saq_worker", "work", "producer"),
    "arq": ("arq_worker", "work", "producer"),
    "taskiq-list": ("taskiq_worker", "work_on_list", "producer_on_list"),
    "taskiq-stream": ("taskiq_worker", "work_on_stream", "producer_on_stream"),
}
NAMES = tuple(_HOMES)


def library(name: str) -> Library:
    """Raises ``ImportError`` if it is not installed."""
    home, work, producer = _HOMES[name]
    module = import_module(f"support.library_workers.{home}")
    return Library(module.PACKAGES, getattr(module, work), getattr(module, producer))
