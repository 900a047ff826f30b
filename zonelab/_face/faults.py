"""Faults of a cluster in a test: those of scenarios, for as long as a block lasts."""

import json
from collections.abc import Mapping
from typing import Any

from zonelab._face.host import Host
from zonelab.analysis.near_names import did_you_mean
from zonelab.analysis.runs.history import fault_row
from zonelab.cluster.testbed import Testbed
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.sync import StartableFacade, blocking
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.faults.catalogue import CLASSES, AnyFault
from zonelab.scenarios.faults.fault import Action, Stage
from zonelab.scenarios.faults.links import OfLinks
from zonelab.scenarios.faults.programs import CoordinatorCrash
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.scenarios.spec.scenario import Scenario

SOURCE = "fault"
_OPENS = {"at_s": 0.0, "for_s": 1.0}
"""A scenario's faults have times; that of a block begins and ends with it."""


def checked_fault(kind: str, options: Mapping[str, Any], document: Mapping[str, Any]) -> tuple[AnyFault, Scenario]:
    """Return the fault, and the scenario whose zones it hits. Raises ``ScenarioError`` as a scenario file would."""
    hidden = (name for name, fault in CLASSES.items() if fault.of_clients or fault.of_groups or fault.of_programs)
    kinds = sorted(set(CLASSES) - set(hidden), key=list(CLASSES).index)
    if kind not in kinds:
        words = f"{SOURCE}: kind: got {kind!r}{did_you_mean(kind, kinds)}; accepted: {', '.join(kinds)}"
        raise ScenarioError([words])
    if timed := [name for name in _OPENS if name in options]:
        raise ScenarioError(
            [f"{SOURCE}: {timed[0]}: got {options[timed[0]]!r}; the fault lasts as long as the block; leave it out"]
        )
    try:
        scenario = scenario_of({**document, "faults": [{"kind": kind, **_OPENS, **options}]}, source=SOURCE)
    except ScenarioError as error:
        raise ScenarioError([line.replace("faults[0].", "") for line in error.lines]) from None
    return scenario.faults[0], scenario


class ClusterFault(Startable):
    """Fault from ``start`` to ``close``, or as long as a block lasts; ``fault`` of a cluster makes it.

    Example, in which those of the methods stand in place of the dots::

        async def program(lab: AsyncCluster) -> None:
            fault = lab.fault("kill", zone="b")
            ...

        with cluster("sim") as lab:
            lab.run(program)
    """

    def __init__(self, fault: AnyFault, scenario: Scenario, host: Host, views: list[Testbed]) -> None:
        self._fault, self._host = fault, host
        self.holds = frozenset(fault.holds(scenario))
        testbeds = [host.testbed, *(views if isinstance(fault, OfLinks | CoordinatorCrash) else ())]
        self._actions: list[Action] = [fault.action(Stage(targets=scenario, testbed=one)) for one in testbeds]
        self._row: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """Kind and target, such as ``kill b``."""
        return f"{self._fault.kind} {self._fault.target}"

    async def start(self) -> None:
        """Begin the fault.

        Raises:
            ClusterError: if another fault in force has the same server or link.

        Example::

            await fault.start()
            try:
                await lab.fault("pause", zone="b").start()
            except ClusterError as error:
                print(error)  # fault pause b: kill b already holds zone b
        """
        self._host.begin_fault(self)
        now_ns = self._host.testbed.runtime.now_ns()
        self._row = fault_row(
            fault=f"{self._host.faults_begun}:{self.name}",
            kind=self._fault.kind,
            target=self._fault.target,
            begin_ns=now_ns,
            colour=self._fault.colour,
            detail=json.dumps(self._fault.model_dump(mode="json", exclude_none=True)),
        )
        for action in self._actions:
            await action.begin()

    async def close(self) -> None:
        """End the fault: a dead server restarts, a link works again. Does nothing if the fault is not in force.

        Example::

            await fault.start()
            await fault.close()
        """
        if self._host.end_fault(self):
            for action in self._actions:
                await action.end()
            self._host.record_fault({**self._row, "end_ns": self._host.testbed.runtime.now_ns()})


class BlockingFault(StartableFacade):
    """``ClusterFault`` for programs without an event loop.

    Example, in which those of the methods stand in place of the dots::

        with cluster("sim") as lab:
            fault = lab.fault("kill", zone="b")
            ...
    """

    start = blocking(ClusterFault.start)
    close = blocking(ClusterFault.close)
