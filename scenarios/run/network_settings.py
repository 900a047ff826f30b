"""The settings of links, time-outs and options that a scenario says, for either arm."""

from typing import Any, TypeVar

from zonelab.cluster.wiring.settings import NetworkSettings
from zonelab.scenarios.spec.scenario import Scenario

Settings = TypeVar("Settings", bound=NetworkSettings)


def network_of(kind: type[Settings], scenario: Scenario, **others: Any) -> Settings:
    """Return the settings of ``scenario``, with ``others`` of the arm's own."""
    return kind.of(
        seed=scenario.seed,
        links=scenario.links,
        replication=scenario.replication,
        time_factor=scenario.replication.time_factor,
        topology=scenario.topology.layout,
        **others,
    )
