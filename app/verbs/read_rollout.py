"""``zonelab evaluate --from``: a rollout file of what running servers and measured lags say."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from zonelab.cluster.admin.server_survey import APART_S, survey
from zonelab.cluster.zone import Address
from zonelab.studies.evaluate.read_file import read_rollout
from zonelab.studies.evaluate.template import free_path, write_rollout
from zonelab.studies.reporting.console import error_console


def read_into(file: Path, addresses: Sequence[Address], *, lags: Path | None) -> str:
    """Write ``file``, tell on stderr how each of its values was read, and return its name.

    Raises ``ClusterError`` for a server that does not answer, ``NotAccepted``, ``OSError``.
    """
    free_path(file)
    words = f"{', '.join(map(str, addresses))}: read once, and again in {APART_S:g} s; nothing is changed"
    surveys = asyncio.run(survey(addresses, answered=lambda: _tell(words)))
    found = read_rollout(surveys, lags=lags, file=file)
    write_rollout(file, found.text)
    for line in found.told:
        _tell(f"  {line}")
    return str(file)


def _tell(words: str) -> None:
    error_console().print(words, highlight=False, markup=False, soft_wrap=True)
