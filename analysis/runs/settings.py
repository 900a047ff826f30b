"""What a run was made with, as values by name: from ``run.json`` and from its scenario file."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from analysis.runs.directory import RunDirectory, RunError

_OF_RUN = (
    "scenario", "level", "arm", "zones", "server", "seed", "status", "zonelab_version", "git_commit", "program",
)  # fmt: skip
_TOLD = ("name", "about", "arm", "level", "seed")
"""Values of the scenario file that do not matter, or that run.json tells as well."""


def settings_of(run: RunDirectory) -> dict[str, Any]:
    """The settings of ``run``: those of the scenario file by their dotted path, lists as one value.

    Raises ``RunError``.
    """
    of_run = {name: getattr(run.info, name) for name in _OF_RUN}
    of_file = {path: value for path, value in _scenario_values(run).items() if path not in _TOLD}
    return of_run | {f"scenario.yaml {path}": value for path, value in of_file.items()}


def _scenario_values(run: RunDirectory) -> dict[str, Any]:
    try:
        content = yaml.safe_load(run.scenario_text())
    except yaml.YAMLError as error:
        raise RunError(f"{run.path / 'scenario.yaml'}: {' '.join(str(error).split())}") from error
    return dict(_flat(content, "")) if isinstance(content, Mapping) else {}


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, part in value.items():
            yield from _flat(part, f"{path}.{name}" if path else str(name))
    else:
        yield path, value
