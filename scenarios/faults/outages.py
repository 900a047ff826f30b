"""Outages: all that is in a zone fails at once."""

from collections.abc import Iterator
from typing import Literal

from zonelab.cluster.fields import Problem
from zonelab.cluster.zone import Restart
from zonelab.scenarios.faults.fault import Action, Choices, Fault, OfZone, Stage, Targets
from zonelab.scenarios.faults.programs import ConsumerCrash, CoordinatorCrash, ProducerCrash, ServiceCrash
from zonelab.scenarios.faults.zones import Kill, restarts


class ZoneOutage(OfZone):
    """A zone is out: its server, its coordinator with all links, its producer, its consumers and its services."""

    colour = "#3d3d3d"
    harm = 13
    of_clients = True
    stops_server = True
    not_up = "kill its server and its coordinator: zonelab fault kill, zonelab fault coordinator_crash"

    kind: Literal["zone_outage"]
    zone: str
    restart: Literal["keep", "warm"] = "keep"
    """The server comes back with its own files, or with a copy of a live zone's data."""
    arrivals: Literal["stop", "move"] = "stop"
    """Messages that the zone would have pushed are not pushed, or by living zones, in proportion to their own."""

    @property
    def comes_back(self) -> Restart:
        return Restart(self.restart)

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        yield from super().problems(targets, path)
        for part in self._parts(targets):
            yield from (problem for problem in part.problems(targets, path) if not problem.path.endswith(".zone"))
        if self.arrivals == "move" and (targets.has_groups or len(targets.zones) == 1):
            accepted = "stop: no other zone pushes what one program has to push in order, or there is none"
            yield Problem.of(f"{path}.arrivals", self.arrivals, accepted)

    def holds(self, targets: Targets) -> set[str]:
        return {held for part in self._parts(targets) for held in part.holds(targets)}

    def action(self, stage: Stage) -> Action:
        actions = [part.action(stage) for part in self._parts(stage.targets)]
        producer = stage.producers[self.zone]
        others = [one for zone, one in stage.producers.items() if zone != self.zone] if self.arrivals == "move" else []

        async def begin() -> None:
            producer.hand_over(others)
            for action in actions:
                await action.begin()

        async def end() -> None:
            for action in reversed(actions):
                await action.end()
            producer.hand_over([])

        return Action(begin, end)

    def _parts(self, targets: Targets) -> Iterator[Fault]:
        """The faults that it is made of, in the order in which they begin; the server comes back first."""
        at = {"at_s": self.at_s, "for_s": self.for_s, "zone": self.zone}
        yield ProducerCrash.model_validate({"kind": "producer_crash", **at})
        if targets.consumers.per_zone:
            yield ConsumerCrash.model_validate({"kind": "consumer_crash", "consumer": "all", **at})
        for service in (name for name, zone in targets.services if zone == self.zone):
            yield ServiceCrash.model_validate({"kind": "service_crash", "service": service, **at})
        yield CoordinatorCrash.model_validate({"kind": "coordinator_crash", **at})
        yield Kill.model_validate({"kind": "kill", "restart": self.restart, **at})

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"restart": restarts(targets)}
