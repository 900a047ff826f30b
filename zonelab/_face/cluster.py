"""Clusters in tests: simulated, of processes or of containers, with faults and verdicts."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from zonelab._face.faults import BlockingFault, ClusterFault, checked_fault
from zonelab._face.host import BlockingPlace, Host, QueuePlace
from zonelab._face.loop_thread import LoopThread
from zonelab._face.ports import Ports
from zonelab._face.verdict import verdict_of
from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.zones import zones as real_zones
from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.testbed import Testbed
from zonelab.cluster.zone import ClusterError
from zonelab.engine.sync import CoroutineRunner
from zonelab.scenarios.arms import On
from zonelab.scenarios.run.network_settings import network_of
from zonelab.scenarios.run.simulated import settings_of
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.properties.shutdown import abandon, close

if TYPE_CHECKING:
    from zonelab.analysis.checkers.verdict import Verdict

T = TypeVar("T")


class AsyncCluster(QueuePlace):
    """Cluster for coroutines, as ``Cluster.run`` passes it to them: the same on simulated and on real servers.

    ``zones`` are the names of its zones, ``zone`` the first of them, where queues are opened by default,
    and ``level`` is the consistency level of queues.

    Example, in which those of the methods stand in place of the dots::

        async def program(lab: AsyncCluster) -> None:
            async with queues.open("jobs", lab) as queue:
                ...

        with cluster("sim") as lab:
            lab.run(program)
    """

    def __init__(self, testbed: Testbed, document: Mapping[str, Any], scenario: Scenario, ports: Ports | None) -> None:
        super().__init__(Host(testbed, document, records=True))
        self._ports = ports
        self.zones = scenario.zones
        self.zone = scenario.zones[0]
        self.level = scenario.level

    async def sleep(self, seconds: float) -> None:
        """Let time pass.

        Args:
            seconds: of the cluster's time, virtual or real.

        Example::

            (receipt,) = await queue.push(Message(id="1", timeout_ms=60_000))
            async with queues.open("jobs", lab, zone=receipt.shard) as there:
                await lab.sleep(60)
                print(len(await there.pop(1, wait_ms=1_000)))  # 1
        """
        await self._host.testbed.runtime.sleep(round(seconds * 1e9))

    async def together(self, *coroutines: Coroutine[Any, Any, T]) -> list[T]:
        """Run coroutines concurrently, as ``asyncio.gather`` does.

        Args:
            coroutines: each of them is awaited.

        Returns:
            Their results, in the same order.

        Raises:
            Exception: that of the first, in that order, that fails.

        Example::

            pushes = [queue.push(Message(id=str(number))) for number in range(10)]
            print([receipt.id for (receipt,) in await lab.together(*pushes)][-1])  # 9
        """
        runtime = self._host.testbed.runtime
        tasks = [runtime.spawn(one, name=f"together {number}") for number, one in enumerate(coroutines)]
        return [await task.join() for task in tasks]

    def fault(self, kind: str, **options: object) -> ClusterFault:
        """Return a fault that lasts as long as an ``async with`` block.

        Args:
            kind: as for ``Cluster.fault``.
            options: as for ``Cluster.fault``.

        Raises:
            ScenarioError: as ``Cluster.fault``.
            ClusterError: as ``Cluster.fault``.

        Example::

            async with lab.fault("lag", link="a>b", lag="50ms"):
                await queue.push(Message(id="1"))
        """
        self._host.check_open()
        fault, scenario = checked_fault(kind, options, self._host.document)
        return ClusterFault(fault, scenario, self._host, self._ports.views if self._ports is not None else [])

    async def verdict(self, queue: str | None = None, *, drain_s: float = 60.0) -> "Verdict":
        """Return the checker's verdict on all messages of a queue, as ``Cluster.verdict`` does.

        Args:
            queue: as for ``Cluster.verdict``.
            drain_s: as for ``Cluster.verdict``.

        Raises:
            ClusterError: as ``Cluster.verdict``.

        Example::

            await queue.push(Message(id="1"))
            print((await lab.verdict()).valid)  # True
        """
        self._host.check_open()
        return await verdict_of(self._host, queue, drain_s=drain_s)


class Cluster(BlockingPlace):
    """Cluster of zones that is up for as long as a ``with`` block lasts.

    ``zonelab.testing.cluster`` makes it. Its methods, and those of queues opened on it, are ordinary calls; in
    simulation virtual time passes in them and nowhere else, so that equal seeds give equal runs. ``on`` is where it
    runs, ``sim``, ``process`` or ``docker``; ``zones`` are the names of its zones.

    Example, in which those of the methods stand in place of the dots::

        with cluster("sim") as lab, queues.open("jobs", lab) as queue:
            ...
    """

    def __init__(self, on: On, document: Mapping[str, Any], scenario: Scenario) -> None:
        self.on = on.value
        self.zones = scenario.zones
        self._document, self._scenario, self._where = document, scenario, on
        self._within: AsyncCluster | None = None
        self._running: _SimulatedCluster | _OnServers | None = None

    @property
    def _is_simulated(self) -> bool:
        return self._where is On.SIM

    def __enter__(self) -> Self:
        arm = _SimulatedCluster(self._scenario) if self._is_simulated else _OnServers(self._scenario, self._where)
        testbed = arm.start()
        self._running = arm
        self._within = AsyncCluster(testbed, self._document, self._scenario, arm.ports)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        arm, within = self._running, self._within
        if arm is None or within is None:
            raise ClusterError("the cluster is not up: a block that has not begun cannot end")
        try:
            if kind is None:
                arm.run(within._host.heal())
                arm.run(within._host.close())
        finally:
            self._running = None
            arm.stop(failed=kind is not None)

    def run(self, body: Callable[[AsyncCluster], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function on the cluster, for programs that do several things at once.

        Args:
            body: called with an ``AsyncCluster``. In simulation it may await only queues opened on that, and its
                methods.

        Returns:
            The result of ``body``.

        Raises:
            ClusterError: outside of the cluster's block.
            Exception: whatever ``body`` raises.

        Example::

            async def program(lab: AsyncCluster) -> int:
                async with queues.open("others", lab) as others:
                    await lab.together(*[others.push(Message(id=str(number))) for number in range(10)])
                    return await others.size()

            print(lab.run(program))  # 10
        """
        return self._runner(body(self._place))

    def sleep(self, seconds: float) -> None:
        """Let time pass; queues go on with their work in the background.

        Args:
            seconds: of the cluster's time, virtual or real.

        Example::

            (receipt,) = queue.push(Message(id="1", timeout_ms=60_000))
            with queues.open("jobs", lab, zone=receipt.shard) as there:
                lab.sleep(60)
                print(len(there.pop(1, wait_ms=1_000)))  # 1
        """
        self._runner(self._place.sleep(seconds))

    def fault(self, kind: str, **options: object) -> BlockingFault:
        """Return a fault that lasts as long as a ``with`` block.

        Args:
            kind: one of a scenario's kinds (docs/scenarios.md#faults): ``kill``, ``wipe``, ``pause``, ``slow``,
                ``memory``, ``cut``, ``lag`` and others; not those of programs, as these are the test's own.
            options: fields of the fault, such as ``zone``, ``restart``, ``link``, ``lag`` or ``factor``; without times.

        Returns:
            An object for ``with``, also with ``start`` and ``close``.

        Raises:
            ScenarioError: for an unknown kind, option, zone or link, with the accepted ones.
            ClusterError: when the block begins, if another fault in force has the same server or link.

        Example::

            with lab.fault("pause", zone="b"), lab.fault("pause", zone="c"):
                try:
                    queue.push(Message(id="1"))
                except (Unavailable, Indeterminate, ServerError) as error:
                    print(isinstance(error, Indeterminate))  # True
        """
        return BlockingFault(self._place.fault(kind, **options), self._runner)

    def verdict(self, queue: str | None = None, *, drain_s: float = 60.0) -> "Verdict":
        """Return the checker's verdict on all messages of a queue that was opened on this cluster.

        First closes all handles on the queue, ends every fault, consumes what is left, and reads what every zone holds.

        Args:
            queue: name of the queue; not needed if only one was opened.
            drain_s: seconds of the cluster's time for consuming what is left; the verdict counts what is left after it.

        Returns:
            A ``Verdict``: ``valid`` is True, False or ``"unknown"``; ``counts`` has the cases of every class of
            messages (docs/verdicts.md), ``violated`` the forbidden classes with any, ``reasons`` says it in words.

        Raises:
            ClusterError: if no queue of this name was opened, or several were and ``queue`` is not given.

        Example::

            queue.push([Message(id="1"), Message(id="2")])
            verdict = lab.verdict()
            print(verdict.valid, verdict.totals.pushed, verdict.counts["lost"])  # True 2 0
        """
        return self._runner(self._place.verdict(queue, drain_s=drain_s))

    @property
    def urls(self) -> dict[str, str]:
        """URL of each zone's coordinator, for any Redis client, by zone. Empty in simulation.

        Example, on servers::

            with cluster("process") as lab, connect(lab.urls["b"]) as server:
                print(server.execute("SET", "k", "v"))  # b'OK'
        """
        self._place._host.check_open()
        ports = self._place._ports
        return {} if ports is None else ports.urls

    @property
    def server_urls(self) -> dict[str, str]:
        """URL of each zone's server itself, past the coordinators, by zone. Empty in simulation.

        Example, on servers::

            with cluster("process") as lab, connect(lab.server_urls, zone="c") as server:
                print(server.zones)  # ('a', 'b', 'c')
        """
        testbed = self._place._host.testbed
        return {} if self._is_simulated else {name: f"redis://{zone.address}" for name, zone in testbed.zones.items()}

    @property
    def _place(self) -> AsyncCluster:
        if self._within is None or self._running is None:
            raise ClusterError("the cluster is not up: use it within its `with` block")
        return self._within

    @property
    def _runner(self) -> CoroutineRunner:
        if self._running is None:
            raise ClusterError("the cluster is not up: use it within its `with` block")
        return self._running.run


class _SimulatedCluster:
    """A simulated cluster, whose time passes while a call lasts."""

    ports = None

    def __init__(self, scenario: Scenario) -> None:
        self._cluster = SimCluster(scenario.servers, settings_of(scenario))

    def start(self) -> Testbed:
        self.run(self._cluster.start())
        return self._cluster

    def run(self, coroutine: Coroutine[Any, Any, T], /) -> T:
        return self._cluster.runtime.run_until_complete(coroutine)

    def stop(self, *, failed: bool) -> None:
        if failed:
            abandon(self._cluster)
        else:
            close(self._cluster)


class _OnServers:
    """Real servers and ports, in the loop of a thread."""

    def __init__(self, scenario: Scenario, on: On) -> None:
        self._scenario, self._on = scenario, on
        self._thread = LoopThread()
        self._cluster: RealCluster | None = None
        self.ports: Ports | None = None

    def run(self, coroutine: Coroutine[Any, Any, T], /) -> T:
        return self._thread.run(coroutine)

    def start(self) -> Testbed:
        try:
            return self.run(self._start())
        except BaseException:
            self._thread.close()
            raise

    async def _start(self) -> Testbed:
        scenario, settings = self._scenario, network_of(RealSettings, self._scenario)
        events = scenario.notify_keyspace_events
        servers = real_zones(self._on.zones.value, scenario.servers, persistence=scenario.persistence, events=events)
        cluster = self._cluster = RealCluster(servers, settings)
        await cluster.start()
        self.ports = Ports(cluster, settings, level=scenario.level)
        try:
            await self.ports.start()
        except BaseException:
            await self._stop()
            raise
        return cluster

    def stop(self, *, failed: bool) -> None:
        try:
            self.run(self._stop())
        finally:
            self._thread.close()

    async def _stop(self) -> None:
        try:
            if self.ports is not None:
                await self.ports.stop()
        finally:
            if self._cluster is not None:
                await self._cluster.stop()


def make_cluster(on: str, document: Mapping[str, Any], overrides: Sequence[str]) -> Cluster:
    """Return the cluster of ``zonelab.testing.cluster``, which says what the arguments mean."""
    if on not in set(On):
        raise ClusterError(f"on: got {on!r}; accepted: {', '.join(On)}")
    scenario = scenario_of(document, source="cluster", overrides=overrides)
    if scenario.servers != scenario.zones or scenario.topology.data_centres:
        raise ClusterError("topology: got zones of several servers; accepted: zones of one server in one data centre")
    content = scenario.model_dump(mode="json", exclude={"found", "evaluate", "queue"})
    return Cluster(On(on), content, scenario)
