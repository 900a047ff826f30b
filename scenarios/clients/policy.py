"""The client policy: which zone's coordinator a program asks, and how often, in the manner of Netflix's Dyno client.

A program looks for another zone before it sends, while it knows its own coordinator to be gone, and after an error if
the policy has retries. Retries are blind, as Dyno's are: INCR, LPUSH or a script may be applied twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from zonelab.cluster.testbed import Testbed, TestbedAround
from zonelab.cluster.votes.levels import Setting
from zonelab.engine.ports import Command, Connection, Indeterminate, PortError, Reply, Unavailable
from zonelab.scenarios.clients.program_crash import Routable, wrapped
from zonelab.scenarios.queues.under_test import Wrap
from zonelab.scenarios.spec.clients import Clients

FALLBACK_ZONES_MAX = 3
"""Dyno's ``maxFailoverCount``: so many other zones are looked at before a command is given up unsent."""


@dataclass(slots=True)
class ClientCounts:
    """Counts of one client: ``retries`` of pipelines that had failed, and pipelines sent ``elsewhere``.

    ``fail_overs``: how often it found its own coordinator gone; ``returns``: how often it came back to it.
    """

    retries: int = 0
    elsewhere: int = 0
    fail_overs: int = 0
    returns: int = 0


@dataclass(slots=True)
class _Coordinator:
    """One coordinator as a client knows it. ``gone_until_ns``: not to be tried before; None while it may be."""

    errors: int = 0
    gone_until_ns: int | None = None


@dataclass(slots=True)
class CoordinatorChooser:
    """Chooses the coordinator of each attempt of one program. ``reachable`` returns whether a connection can be had."""

    home: str
    policy: Clients
    back_after_ns: int
    now_ns: Callable[[], int]
    reachable: Callable[[str], bool]
    others: tuple[str, ...]
    counts: ClientCounts = field(default_factory=ClientCounts)
    _known: dict[str, _Coordinator] = field(default_factory=dict)
    _next: int = 0

    def __post_init__(self) -> None:
        self._known = {zone: _Coordinator() for zone in (self.home, *self.others)}

    def choose(self, *, attempt: int) -> str:
        """The zone whose coordinator gets the attempt, 0 the first. Raises ``Unavailable`` if all are gone."""
        if not self.policy.failover:
            return self.home
        if attempt == 0 and self._is_well(self.home):
            return self.home
        for _ in self.others[:FALLBACK_ZONES_MAX]:
            zone = self.others[self._next % len(self.others)]
            self._next += 1
            if self._is_well(zone):
                return zone
        if self._is_well(self.home):
            return self.home
        raise Unavailable("client: no coordinator can be reached")

    def answered(self, zone: str) -> None:
        self._known[zone].errors = 0

    def failed(self, zone: str) -> None:
        """A pipeline through ``zone`` ended with an error. One whose connection is lost counts towards its end."""
        if self.reachable(zone):
            return
        known = self._known[zone]
        known.errors += 1
        if known.errors >= self.policy.connections and known.gone_until_ns is None:
            known.gone_until_ns = self.now_ns() + self.back_after_ns
            self.counts.fail_overs += zone == self.home and self.policy.failover

    def _is_well(self, zone: str) -> bool:
        known = self._known[zone]
        if known.gone_until_ns is None:
            return True
        if self.now_ns() < known.gone_until_ns:
            return False
        # The connection is opened before the command is sent, so that a refusal costs no command its answer.
        if not self.reachable(zone):
            known.gone_until_ns = self.now_ns() + self.back_after_ns
            return False
        known.gone_until_ns, known.errors = None, 0
        self.counts.returns += zone == self.home
        return True


class RoutedConnection:
    """``Connection`` of a program: each attempt goes where its client says. ``ways`` lead there, by zone."""

    def __init__(self, ways: Mapping[str, Connection], client: CoordinatorChooser) -> None:
        self._ways = ways
        self._client = client

    async def execute(self, *commands: Command) -> list[Reply]:
        """Execute, see ``Connection.execute``. Raises ``Indeterminate`` if any attempt may have been applied and none
        was answered.
        """
        client, applied = self._client, False
        for attempt in range(1 + client.policy.retries):
            try:
                zone = client.choose(attempt=attempt)
                client.counts.retries += attempt > 0
                client.counts.elsewhere += zone != client.home
                replies = await self._send(zone, commands)
            except PortError as error:
                applied = applied or isinstance(error, Indeterminate)
                last = error
            else:
                return replies
        if applied and not isinstance(last, Indeterminate):
            raise Indeterminate(*last.args) from last
        raise last

    async def _send(self, zone: str, commands: tuple[Command, ...]) -> list[Reply]:
        try:
            replies = await self._ways[zone].execute(*commands)
        except PortError:
            self._client.failed(zone)
            raise
        self._client.answered(zone)
        return replies


class RoutableConnection(Routable):
    """Connection that a testbed with a policy gives a program: the ways to all coordinators, and nothing to choose
    among them yet.

    ``zonelab.scenarios.clients.program_crash.wrapped`` makes the program's own connection of it. As it is, it asks its
    zone.
    """

    def __init__(self, ways: Mapping[str, Connection], home: str, testbed: "PolicyTestbed") -> None:
        self._ways = ways
        self._home = home
        self._testbed = testbed

    async def execute(self, *commands: Command) -> list[Reply]:
        return await self._ways[self._home].execute(*commands)

    def routed(self, process: str, wrap: Wrap) -> Connection:
        """The connection of the program ``process``; each attempt passes through ``wrap``."""
        ways = {zone: wrapped(way, process, wrap) for zone, way in self._ways.items()}
        return RoutedConnection(ways, self._testbed.client(process, self._home))


class PolicyTestbed(TestbedAround):
    """``Testbed`` whose programs follow ``policy``. ``time_factor`` scales its times, as those of the replication."""

    def __init__(self, testbed: Testbed, policy: Clients, *, zones: tuple[str, ...], time_factor: float) -> None:
        super().__init__(testbed)
        self._policy = policy
        self._zones = zones
        self._back_after_ns = round(policy.back_after_ms * time_factor * 1e6)
        self._clients: dict[str, CoordinatorChooser] = {}

    @property
    def counts(self) -> dict[str, dict[str, Any]]:
        """Return what each program's client has done, by the name of the process."""
        return {process: asdict(client.counts) for process, client in sorted(self._clients.items())}

    def connection(self, zone: str, level: Setting) -> Connection:
        return self._routable(zone, lambda at: self._testbed.connection(at, level))

    def reads(self, zone: str, target: str) -> Connection:
        return self._routable(zone, lambda at: self._testbed.reads(at, target))

    def client(self, process: str, home: str) -> CoordinatorChooser:
        """The client of a program, the same for all its connections."""
        if process not in self._clients:
            self._clients[process] = CoordinatorChooser(
                home=home,
                policy=self._policy,
                back_after_ns=self._back_after_ns,
                now_ns=self.runtime.now_ns,
                reachable=lambda zone: self.coordinators[zone].running,
                others=self._others(home),
            )
        return self._clients[process]

    def _others(self, home: str) -> tuple[str, ...]:
        """The other zones, beginning after ``home``, so that not all programs go to the same one."""
        at = self._zones.index(home)
        return self._zones[at + 1 :] + self._zones[:at]

    def _routable(self, zone: str, connect: Callable[[str], Connection]) -> Connection:
        return RoutableConnection({at: connect(at) for at in (zone, *self._others(zone))}, zone, self)
