"""Scenario of an opened queue, for adapters and checker, validated by the models of scenario files."""

from collections.abc import Mapping
from typing import Any

from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.scenarios.spec.scenario import Scenario

_WITHOUT_LOAD: Mapping[str, Any] = {
    "load": {"duration_s": 2.0, "rate_per_s": 0.0},
    "consumers": {"per_zone": 1, "processing": "0"},
    "drain": {"bound_s": 1e9},
}
"""A user's program is the load."""


def cluster_document(zones: tuple[str, ...], *, real: bool, **sections: Any) -> dict[str, Any]:
    """Return the document of a scenario on ``zones`` without load; ``sections`` are those of a scenario file."""
    arm = "real" if real else "sim"
    return {"name": "zonelab", "arm": arm, "topology": {"zones": list(zones)}, **_WITHOUT_LOAD, **sections}


def queue_scenario(
    document: Mapping[str, Any],
    name: str,
    *,
    engine: str,
    mode: str | None,
    level: str | None,
    batch: int,
    options: Mapping[str, Any],
    source: str,
) -> Scenario:
    """Return ``document`` with a queue. Raises ``ScenarioError``, which names ``source``, as the command line does."""
    section = {"engine": engine, **({} if mode is None else {"mode": mode}), **options}
    if engine in ENGINES and "topics" in ENGINES[engine].settings.model_fields:
        section.setdefault("topics", [name])
    consumers = {**document["consumers"], "batch": batch}
    content = {**document, "queue": section, "consumers": consumers, **({} if level is None else {"level": level})}
    return scenario_of(content, source=source)
