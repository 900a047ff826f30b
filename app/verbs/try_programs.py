"""The scenario of ``zonelab try``: a producer, workers and faults that a command line names."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass
from zonelab.cluster.topology.topology import ZONES_MAX
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.guests.guest import Role
from zonelab.scenarios.spec.fault_words import faults_in_words
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.scenarios.spec.scenario import Scenario

NAME = "try"
"""Name of its runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramTrial:
    """A trial of programs as a command line describes it: commands, where they run, and what is broken meanwhile.

    ``guest``: a queue that ships, or a folder of one, perhaps with its version: ``NAME==VERSION``.
    ``zones``: how many, or their names with commas between. ``load_s``: longest time of the load. ``quiet_s``: time
    without any event after which the queue counts as empty.
    """

    producers: Sequence[str]
    workers: Sequence[str]
    guest: str | None
    faults: Sequence[str]
    zones: str
    producer_zone: str | None
    worker_zone: str
    workers_per_zone: int
    ready: str | None
    load_s: float
    quiet_s: float
    drain_s: float
    forbid: Sequence[MessageClass]
    settings: dict[str, Any]
    overrides: Sequence[str]

    def scenario(self) -> Scenario:
        """Return the scenario. Raises ``NotAccepted`` or ``ScenarioError``."""
        zones, faults = self._zones(), faults_in_words(self.faults)
        ends_s = max((one["at_s"] + one["for_s"] for one in faults), default=0.0)
        document = {
            "name": NAME,
            **self.settings,
            "topology": {"zones": zones},
            "load": {"duration_s": max(self.load_s, ends_s)},
            "programs": self._programs(zones),
            "faults": faults,
            "drain": {"bound_s": self.drain_s, "quiet_s": self.quiet_s},
            "checks": {"forbid": [str(name) for name in dict.fromkeys((*FORBIDDEN_DEFAULT, *self.forbid))]},
        }
        return scenario_of(document, source=NAME, overrides=self.overrides)

    def _zones(self) -> list[str]:
        if not (self.zones.isascii() and self.zones.isdigit()):
            return [name.strip() for name in self.zones.split(",")]
        if not 1 <= int(self.zones) <= ZONES_MAX:
            raise NotAccepted(f"--zones: got {self.zones}; accepted: 1 to {ZONES_MAX}, or their names: a,b,c")
        return list(ascii_lowercase[: int(self.zones)])

    def _programs(self, zones: Sequence[str]) -> dict[str, Any]:
        programs: dict[str, Any] = {}
        for number, producer in enumerate(self._given(Role.PRODUCER, self.producers), start=1):
            where = self.producer_zone or zones[0]
            programs[_numbered("producer", number)] = {"ends": True, **producer, "zone": where}
        ready = {} if self.ready is None else {"ready": self.ready}
        for number, worker in enumerate(self._given(Role.WORKER, self.workers), start=1):
            where_and_how_many = {"zone": self.worker_zone, "count": self.workers_per_zone}
            programs[_numbered("worker", number)] = {**worker, **where_and_how_many, **ready}
        return programs

    def _given(self, role: Role, commands: Sequence[str]) -> list[dict[str, Any]]:
        """Return the programs of ``role`` that are given: commands, of the guest if there is one, or else its own."""
        if self.guest is None:
            return [{"command": command} for command in commands]
        name, _, version = self.guest.partition("==")
        guest = {"guest": name, **({"version": version} if version else {})}
        return [{**guest, "command": command} for command in commands] or [{**guest, "role": str(role)}]


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"
