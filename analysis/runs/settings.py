"""Settings of a run as values by name, from ``run.json`` and its scenario file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.yaml_text import NotYaml, read_yaml

_OF_RUN = (
    "scenario", "level", "arm", "zones", "server", "seed", "status", "zonelab_version", "git_commit", "program",
)  # fmt: skip
_TOLD = ("name", "about", "arm", "level", "seed")
"""Values of the scenario file that do not matter, or that run.json has as well."""

_LIKE = ("seed", "status", "scenario.yaml found")
"""Fields in which runs of one setting may differ."""


def settings_of(run: RunDirectory) -> dict[str, Any]:
    """The settings of ``run``: those of the scenario file by their dotted path, lists as one value.

    Raises ``RunError``.
    """
    of_run = {name: getattr(run.info, name) for name in _OF_RUN}
    of_file = {path: value for path, value in scenario_values(run).items() if path not in _TOLD}
    return of_run | {f"scenario.yaml {path}": value for path, value in of_file.items()}


def used_words(run: RunDirectory) -> str:
    """Return what the clients of ``run`` used: the engine and its mode, ``dyno, default``, the kind of workload, or
    ``programs``; of a log of events that came from elsewhere, ``events``.

    Raises ``RunError``.
    """
    if run.info.workload is not None:
        return f"{run.info.workload.kind} workload"
    if run.info.programs:
        return "programs"
    mode = scenario_values(run).get("queue.mode")
    return ", ".join([run.info.queue.engine, *([str(mode)] if mode else [])])


def differing(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings that are not the same in all of ``settings``, but for those that runs of one setting differ in.

    Another commit of the same sources is no other setting.
    """
    names = dict.fromkeys(name for one in settings for name in one if not name.startswith(_LIKE))
    found = [name for name in names if len({value_text(one.get(name)) for one in settings}) > 1]
    same_sources = "program" not in found and all(one.get("program") for one in settings)
    return [name for name in found if not (same_sources and name == "git_commit")]


def value_text(value: Any) -> str:
    """A value in one way, by which values are equal or not."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def scenario_values(run: RunDirectory) -> dict[str, Any]:
    """The values of the scenario file by their dotted path. Raises ``RunError``."""
    try:
        content = read_yaml(run.scenario_text())
    except NotYaml as error:
        raise RunError(f"{run.path / 'scenario.yaml'}: {error}") from error
    return dict(_flat(content, "")) if isinstance(content, Mapping) else {}


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, part in value.items():
            yield from _flat(part, f"{path}.{name}" if path else str(name))
    else:
        yield path, value
