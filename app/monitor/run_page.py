"""The live page of a run on real servers: it only reads, in the loop of the run, once a second while somebody looks."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.middleware import Middleware

from zonelab.app.monitor.after_run import AfterRun, Ending
from zonelab.app.monitor.app import OPEN_PATHS, not_accepted, page_routes
from zonelab.app.monitor.feed import Feed
from zonelab.app.monitor.health import health_of
from zonelab.app.monitor.page import address_of
from zonelab.app.monitor.strips import Strips
from zonelab.app.monitor.watched_depths import WatchedDepths
from zonelab.app.monitor.watched_queue import WatchedQueue
from zonelab.cluster.admin.guard import Guard
from zonelab.cluster.admin.rates import CoordinatorCounts
from zonelab.cluster.admin.serving import Bounds, listening, serving_at
from zonelab.cluster.testbed import Testbed
from zonelab.scenarios.clients.messages_so_far import MessagesSoFar
from zonelab.scenarios.clients.order_so_far import OrderSoFar
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.queues.places import places_of
from zonelab.scenarios.queues.under_test import QueueUnderTest
from zonelab.scenarios.spec.scenario import Scenario

TOKEN_BYTES = 32


class InSight(Protocol):
    """Run under way, as a live page sees it."""

    @property
    def testbed(self) -> Testbed: ...
    @property
    def faults_in_force(self) -> Sequence[Mapping[str, Any]]:
        """Return the faults in force as rows of ``zonelab.analysis.runs.history.FAULTS``."""

    @property
    def queue(self) -> QueueUnderTest | None:
        """Return the queue of the run; None if it has none."""

    def tell_messages(self, so_far: MessagesSoFar) -> None:
        """Report every operation on messages from now on to ``so_far``, if the run has any."""

    def tell_order(self, so_far: OrderSoFar) -> None:
        """Report every event of partitions from now on to ``so_far``, if the run has any."""


class RunPage:
    """Takes its port at once. Raises ``ClusterError`` if it is taken.

    ``wait_s``: how long the run waits for somebody who looks before it begins.
    """

    def __init__(self, scenario: Scenario, *, port: int = 0, wait_s: float = 0.0) -> None:
        self._scenario = scenario
        self._wait_s = wait_s
        self._token = secrets.token_urlsafe(TOKEN_BYTES)
        self._listener = listening("127.0.0.1", port, what="the live page")
        self._run: InSight | None = None
        self._phase = "set-up"
        self._counts: dict[tuple[str, str], int] = {}
        self._messages: MessagesSoFar | None = None
        self._order: OrderSoFar | None = None
        self._rates: dict[str, tuple[CoordinatorCounts, CoordinatorCounts]] = {}
        self._feed = Feed(self._noted)
        self._last: dict[str, Any] = {}
        self._after: AfterRun | None = None
        self._strips = Strips()
        self.queues = _OneQueue()

    @property
    def address(self) -> str:
        host, port = self._listener.getsockname()[:2]
        return address_of(f"http://{host}:{port}", token=self._token)

    def sees(self, run: InSight) -> None:
        """The run is about to begin."""
        self._run = run
        if self._scenario.workload is None:
            self._messages = MessagesSoFar()
            run.tell_messages(self._messages)
            if (rules := self._scenario.order_rules) is not None:
                self._order = OrderSoFar(wait_ms=rules.wait_ms)
                run.tell_order(self._order)
            queue, zones = self._scenario.queue, self._scenario.zones
            engine = queue.factory or (queue.engine if queue.mode == "default" else f"{queue.engine} {queue.mode}")
            if places := places_of(queue, zones):
                servers = {zone: run.testbed.direct(zone) for zone in zones}
                self.queues.queue = WatchedQueue("queue", engine, places, servers, {zone: zone for zone in zones})
            elif run.queue is not None:
                self.queues.queue = WatchedDepths("queue", engine, run.queue, zones)

    def phase(self, name: str, bound_s: float | None) -> None:
        self._phase = name
        if self._after is not None:
            self._after.phase = name

    def progress(self, elapsed_s: float, counts: Mapping[Any, int]) -> None:
        self._counts = dict(counts)

    @contextlib.asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        """The page can be opened inside the block, and afterwards until ``end``, with what was read last."""
        guard = Middleware(Guard, token=self._token, reading_needs_token=True, open_to_all=OPEN_PATHS)
        app = Starlette(
            routes=page_routes(self, self._feed), middleware=[guard], exception_handlers={NotAccepted: not_accepted}
        )
        async with serving_at(app, self._listener.dup(), bounds=Bounds(token=self._token)):
            try:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._feed.first_listener.wait(), self._wait_s)
                yield
            finally:
                looked = self._feed.listeners > 0
                self._feed.end()
                self.queues.close()
                await asyncio.sleep(0)
        last = self._last or {"now_ms": _now_ms(), "run": self._so_far()}
        self._after = AfterRun(self._listener, token=self._token, hello=self.hello(), last=last, looked=looked)

    def end(self, ending: Ending) -> None:
        """Tell everybody who looks how the run ended, and serve the page no more. Blocks for 15 s at most."""
        if self._after is not None:
            self._after.end(ending)
        self._listener.close()

    def hello(self) -> dict[str, Any]:
        scenario = self._scenario
        about = {"level": scenario.level.value, "seed": scenario.seed, "engine": scenario.queue.engine}
        return {"title": f"Run of {scenario.name} at {scenario.level}", "about": about, "faultable": None}

    async def _noted(self) -> dict[str, Any]:
        self._last = await self.read()
        return self._last

    async def read(self) -> dict[str, Any]:
        run = self._run
        if run is None:
            return {"now_ms": _now_ms(), "run": self._so_far()}
        await self.queues.look()
        now_ms, queues = _now_ms(), self.queues.shown()
        zones = [self._zone(name, run.testbed, now_ms) for name in run.testbed.zones]
        faults = [self._fault(row, run.testbed) for row in run.faults_in_force]
        recent = [{"zone": zone["zone"], **zone["statistics"]["recent"]} for zone in zones]
        self._strips.sample(now_ms, zones=recent, queues=queues, faults=faults)
        return {
            "now_ms": now_ms,
            "run": self._so_far(),
            "zones": zones,
            "health": health_of(zones),
            "strips": self._strips.shown(now_ms),
            "links": [
                {
                    "link": f"{source}>{target}",
                    "lag": str(link.lag),
                    "loss": link.loss,
                    "cut": None if link.cut_mode is None else link.cut_mode.value,
                    "in_flight": link.in_flight,
                    "read_ms": now_ms,
                }
                for (source, target), link in run.testbed.links.items()
            ],
            "faults": faults,
            "queues": queues,
            **self._partitions(run.testbed.runtime.now_ns(), now_ms),
        }

    def _so_far(self) -> dict[str, Any]:
        now_ms = _now_ms()
        counts = [{"f": f, "outcome": outcome, "count": number} for (f, outcome), number in self._counts.items()]
        shown: dict[str, Any] = {"phase": self._phase, "read_ms": now_ms, "operations": counts, "messages": None}
        if self._messages is not None:
            overdue, oldest_ms = self._messages.overdue(now_ms)
            shown["messages"] = {
                "confirmed": self._messages.confirmed,
                "delivered": self._messages.delivered,
                "duplicates": self._messages.duplicates,
                "overdue": overdue,
                "overdue_ms": oldest_ms,
            }
        return shown

    def _partitions(self, now_ns: int, now_ms: int) -> dict[str, Any]:
        if self._order is None:
            return {}
        return {"partitions": [{**row, "read_ms": now_ms} for row in self._order.shown(now_ns)]}

    def _zone(self, name: str, testbed: Testbed, now_ms: int) -> dict[str, Any]:
        coordinator = testbed.coordinators[name]
        counted = coordinator.statistics.as_dict()
        levels = {level: row for level, row in counted["levels"].items() if row["commands"]}
        commands = sum(row["commands"] for row in levels.values())
        errors = sum(row["error_answers"] for row in levels.values())
        statistics = {
            "connected": {"every zone": coordinator.connected},
            "commands": commands,
            "errors": errors,
            "levels": levels,
            "zone_failures": counted["zone_failures"],
            "recent": self._recent(name, commands, errors, now_ms),
        }
        state = testbed.zones[name].state.value
        return {
            "zone": name,
            "server": {"state": state},
            "coordinator": {"state": "running" if coordinator.running else "dead"},
            "statistics": statistics,
            "read_ms": now_ms,
        }

    def _recent(self, name: str, commands: int, errors: int, now_ms: int) -> dict[str, float]:
        """Per second, since the reading before."""
        now = CoordinatorCounts(time_ns=now_ms * 1_000_000, commands=commands, errors=errors)
        _, before = self._rates.get(name, (now, now))
        self._rates[name] = before, now
        length_s = max(1e-3, (now.time_ns - before.time_ns) / 1e9)
        differences = {"operations_per_s": commands - before.commands, "errors_per_s": errors - before.errors}
        return {what: max(0, number) / length_s for what, number in differences.items()}

    def _fault(self, row: Mapping[str, Any], testbed: Testbed) -> dict[str, Any]:
        since_s = (testbed.runtime.now_ns() - row["begin_ns"]) / 1e9
        return {"fault": row["fault"], "kind": row["kind"], "since_s": since_s, "ends_in_s": None, "links": []}


class _OneQueue:
    """The queue of the run, once there is one."""

    queue: WatchedQueue | WatchedDepths | None = None

    async def look(self) -> None:
        if self.queue is not None:
            await self.queue.look()

    def shown(self) -> list[dict[str, Any]]:
        return [] if self.queue is None else [self.queue.shown()]

    async def find(self, name: str, engine: str, message_id: str) -> list[dict[str, Any]]:
        if self.queue is None:
            raise NotAccepted("no queue is shown yet")
        return await self.queue.find(message_id)

    def close(self) -> None:
        if self.queue is not None:
            self.queue.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
