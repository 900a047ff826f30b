"""The log in the form of gmq v1.0: ``[W] [rpc] [2026-11-24 10:40:00] text``, in a file that is kept short.

Of the levels ERROR 0, WARN 1, DEBUG 2, INFO 3 and TRACE 4 the file has those up to the one that is set; the console has
all. A file that is full becomes ``.1``, and that ``.2``, up to ``.5``.
"""

import logging
import re
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

from zonelab.app.gmq_service.settings import ServiceSettings
from zonelab.cluster.zone import ClusterError

FILES_KEPT = 5
_BEGIN_BYTES = 8
_LINE = re.compile(rb"\[[EWDIT]\] \[")
_LETTERS = {logging.ERROR: "E", logging.WARNING: "W", logging.DEBUG: "D", logging.INFO: "I"}
_RANKS = {"E": 0, "W": 1, "D": 2, "I": 3}


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        category = record.name.rpartition(".")[2]
        when = self.formatTime(record, "%Y-%m-%d %H:%M:%S")
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}: {self.formatException(record.exc_info)}"
        return f"[{_letter(record)}] [{category}] [{when}] {text}"


def log_as_told(settings: ServiceSettings, *, console: bool) -> None:
    """Set up logging. ``console``: there is a console. Raises ``ClusterError`` if the file cannot be written."""
    root = logging.getLogger("gmq")
    root.setLevel(logging.DEBUG)
    root.propagate = False
    for handler in _handlers(settings, console=console):
        handler.setFormatter(_Lines())
        root.addHandler(handler)


def _handlers(settings: ServiceSettings, *, console: bool) -> list[logging.Handler]:
    handlers: list[logging.Handler] = []
    if "file" in settings.log_targets:
        path = Path(settings.log_file).absolute()
        size = settings.log_bytes_max if settings.log_rotate else 0
        try:
            for old in (path, *(path.with_name(f"{path.name}.{number}") for number in range(1, FILES_KEPT + 1))):
                _check(old)
            file = RotatingFileHandler(path, maxBytes=size, backupCount=FILES_KEPT, encoding="utf-8")
        except OSError as error:
            raise ClusterError(f"the log {path} cannot be written: {error.strerror}") from error
        file.addFilter(lambda record: _RANKS[_letter(record)] <= settings.log_level)
        handlers.append(file)
    if "console" in settings.log_targets and console:
        handlers.append(logging.StreamHandler(sys.stderr))
    return handlers


def _check(path: Path) -> None:
    """Raise ``ClusterError`` if ``path`` is no log: it will be appended to, renamed, and removed in the end."""
    if path.is_symlink():
        raise ClusterError(f"the log {path}: got a link; accepted: a regular file")
    if not path.exists():
        return
    if not path.is_file():
        raise ClusterError(f"the log {path}: not a regular file")
    with path.open("rb") as file:
        begin = file.read(_BEGIN_BYTES)
    if begin and not _LINE.match(begin):
        raise ClusterError(f"the log {path}: got a file that is no log of gmq; accepted: such a log, or no file")


def _letter(record: logging.LogRecord) -> str:
    return _LETTERS.get(record.levelno, "E")
