"""A topology in a file, for ``zonelab up --topology``: written as the ``topology`` section of a scenario."""

import shlex
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from scenarios.session.fault_requests import NotAccepted
from scenarios.session.settings import ZONES_DEFAULT
from scenarios.spec.topology import Topology


def counted(
    *, dcs: int | None, zones: int | None, nodes: int | None, hash_tag: str | None, file: Path | None
) -> tuple[dict[str, Any], list[str]]:
    """What ``SessionSettings`` are to have of where the servers are, and the options that say so.

    None is what was not asked for. Raises ``NotAccepted``.
    """
    asked = {"dcs": dcs, "zones": zones, "nodes": nodes, "hash_tag": hash_tag}
    given = {name: value for name, value in asked.items() if value is not None}
    if file is None:
        given.setdefault("zones", ZONES_DEFAULT)
        return given, [f"{_option(name)} {shlex.quote(str(value))}" for name, value in given.items()]
    if given:
        raise NotAccepted(f"--topology says all of it; accepted with it: no {', '.join(map(_option, given))}")
    return read_topology(file), [f"--topology {shlex.quote(str(file))}"]


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def read_topology(path: Path) -> dict[str, Any]:
    """``data_centres``, ``hash`` and ``hash_tag`` of ``SessionSettings``. Raises ``NotAccepted``.

    The file may hold the section by itself, or have it under ``topology``, as a scenario has.
    """
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotAccepted(f"--topology: {path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        said = " ".join(str(error).split())
        raise NotAccepted(f"--topology: {path} is no YAML: {said}") from error
    section = given.get("topology", given) if isinstance(given, dict) else given
    if not isinstance(section, dict):
        raise NotAccepted(
            f"--topology: {path}: got {section!r}; accepted: data_centres, hash, hash_tag, as in scenarios"
        )
    try:
        read = Topology.model_validate(section)
    except ValidationError as error:
        said = "; ".join(_said(one) for one in error.errors(include_url=False))
        raise NotAccepted(f"--topology: {path}: {said}") from error
    counts = read.data_centres or {"dc1": dict.fromkeys(read.zones, 1)}
    return {"data_centres": counts, "hash": read.hash, "hash_tag": read.hash_tag}


def _said(wrong: Any) -> str:
    where = ".".join(map(str, wrong["loc"]))
    said = str(wrong["msg"]).removeprefix("Value error, ")
    given = "" if said.startswith("got ") else f"got {wrong['input']!r}; "
    return f"{where}: {given}{said}" if where else said
