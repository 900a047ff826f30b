"""Statistics of coordinators as a page shows them, and the page of coordinators started elsewhere.

The containers of ``docker/compose.yaml`` are such: they are known by the addresses of their administrations alone.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware

from zonelab.analysis.runs.manual_session import unknown_scripts
from zonelab.app.monitor.app import OPEN_PATHS, not_accepted, page_routes
from zonelab.app.monitor.feed import Feed
from zonelab.app.monitor.health import health_of
from zonelab.app.monitor.page import address_of
from zonelab.app.monitor.queue_request import QueueRequest
from zonelab.app.monitor.readings import WAIT_S, GaugeReading, Readings
from zonelab.app.monitor.strips import Strips
from zonelab.app.monitor.watched_queues import WatchedQueues
from zonelab.cluster.admin.guard import Guard
from zonelab.cluster.admin.rates import errors_in
from zonelab.cluster.admin.serving import Bounds, listening, serving_at
from zonelab.cluster.topology.topology import one_dc
from zonelab.cluster.zone import Address, ClusterError
from zonelab.scenarios.errors import NotAccepted

TOKEN_BYTES = 32
ASK_S = 3.0

Shown = dict[str, Any]


def figures_of(answer: Mapping[str, Any]) -> Shown:
    """Return the part of ``GET /statistics`` that is shown."""
    return {
        "connected": answer["connected"],
        "peers": answer["peers"],
        "remote": answer["remote"],
        "clients": answer["port"]["clients"],
        "over_memory": answer["port"]["over_memory"],
        "commands": answer["port"]["commands"],
        "errors": errors_in(answer),
        "divergence": answer["divergence"],
        "server_troubles": answer["server_troubles"],
        "repairs": answer["repairs"],
        "options": answer["options"],
        "latency_ms": answer["latency"]["quantiles_ms"],
        "recent": answer["recent"],
        "levels": {name: counts for name, counts in answer["levels"].items() if counts["commands"]},
        "zone_failures": answer["zone_failures"],
        "unknown_scripts": answer["unknown_scripts"],
        "deviations": answer["deviations"],
    }


def links_of(readings: Mapping[str, GaugeReading[Shown]], wall_ms: Callable[[int], int]) -> list[Shown]:
    """Each link as the coordinator at its source has it, else the one at its target; ``in_flight`` in both."""
    found: dict[str, Shown] = {}
    for zone, reading in readings.items():
        for link in reading.value["links"]:
            before = found.get(link["link"])
            row = {**link, "read_ms": wall_ms(reading.time_ns)}
            shown = row if before is None or link["link"].startswith(f"{zone}>") else before
            queued = link["in_flight"] + (before["in_flight"] if before is not None else 0)
            found[link["link"]] = {**shown, "in_flight": queued}
    return [found[name] for name in sorted(found)]


def notices_of(readings: Mapping[str, GaugeReading[Shown]]) -> list[str]:
    """Sentences about what clients of a cluster do not hear and its owner should."""
    return unknown_scripts(reading.value for reading in readings.values())


class CoordinatorsPage:
    """``administrations``: by zone, where each coordinator's is. ``servers``: by zone, for queues that are shown."""

    def __init__(self, administrations: Mapping[str, str], servers: Mapping[str, Address]) -> None:
        self._client = httpx.AsyncClient(timeout=ASK_S, trust_env=False)
        sources = {zone: self._asking(address) for zone, address in administrations.items()}
        self._answers: Readings[Shown] = Readings(sources, now_ns=time.time_ns)
        self._zones = tuple(administrations)
        self._feed = Feed(self.read)
        self._strips = Strips()
        self.queues = WatchedQueues(one_dc(self._zones), servers)

    def hello(self) -> Shown:
        return {"title": f"Coordinators of {', '.join(self._zones)}", "about": {}, "faultable": None}

    async def read(self) -> Shown:
        await asyncio.gather(self._answers.look(within_s=WAIT_S), self.queues.look())
        latest = self._answers.latest
        zones = [self._zone(zone, latest.get(zone)) for zone in self._zones]
        now_ms, queues = _wall_ms(time.time_ns()), self.queues.shown()
        recent = [{"zone": zone["zone"], **(zone["statistics"] or {}).get("recent", {})} for zone in zones]
        self._strips.sample(now_ms, zones=recent, queues=queues)
        return {
            "now_ms": now_ms,
            "zones": zones,
            "health": health_of(zones),
            "links": links_of(latest, _wall_ms),
            "notices": notices_of(latest),
            "queues": queues,
            "strips": self._strips.shown(now_ms),
        }

    async def serve(self, *, port: int, tell: Callable[[str], None]) -> None:
        """Until it is cancelled; ``tell`` hears the address. Raises ``ClusterError`` if the port is taken."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        guard = Middleware(Guard, token=token, reading_needs_token=True, open_to_all=OPEN_PATHS)
        handlers = {NotAccepted: not_accepted}
        app = Starlette(routes=page_routes(self, self._feed), middleware=[guard], exception_handlers=handlers)
        with listening("127.0.0.1", port, what="the live page") as listener:
            try:
                async with serving_at(app, listener, bounds=Bounds(token=token)) as address:
                    tell(address_of(f"http://{address}", token=token))
                    await asyncio.Event().wait()
            finally:
                self._feed.close()
                self._answers.close()
                await self.queues.close()
                await self._client.aclose()

    def _asking(self, address: str) -> Any:
        async def ask() -> Shown | None:
            with contextlib.suppress(httpx.HTTPError, ValueError):
                answer = await self._client.get(f"{address}/statistics")
                return dict(answer.json()) if answer.is_success else None
            return None

        return ask

    def _zone(self, zone: str, reading: GaugeReading[Shown] | None) -> Shown:
        answer = None if reading is None else reading.value
        reached = answer is not None and answer["connected"].get(zone)
        silent = reading is None or reading.time_ns < time.time_ns() - round(ASK_S * 1e9)
        return {
            "zone": zone,
            "server": {"state": "running" if reached else "not reached"},
            "coordinator": {"state": "silent" if silent else "running"},
            "read_ms": None if reading is None else _wall_ms(reading.time_ns),
            "statistics": None if answer is None else figures_of(answer),
        }


def watch_coordinators(
    addresses: Sequence[str],
    *,
    servers: Sequence[str],
    queues: Sequence[QueueRequest],
    port: int,
    tell: Callable[[str], None],
) -> None:
    """Serve the page until Ctrl-C. Raises ``NotAccepted``, and ``ClusterError`` if a coordinator does not answer."""
    if queues and len(servers) != len(addresses):
        raise NotAccepted(f"--server: got {len(servers)}; accepted with --queue: {len(addresses)}, one a coordinator")
    administrations = {_zone_at(address): address.rstrip("/") for address in addresses}
    read_from = dict(zip(administrations, map(_address, servers), strict=False))

    async def serve() -> None:
        page = CoordinatorsPage(administrations, read_from)
        for queue in queues:
            page.queues.add(queue)
        await page.serve(port=port, tell=tell)

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve())


def _zone_at(address: str) -> str:
    try:
        answer = httpx.get(f"{address.rstrip('/')}/topology", timeout=ASK_S, trust_env=False)
        return str(answer.raise_for_status().json()["zone"])
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError) as error:
        raise ClusterError(f"no coordinator's administration answers at {address}: {error}") from error


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise NotAccepted(f"--server: got {text!r}; accepted: HOST:PORT")
    return Address(host, int(port))


def _wall_ms(time_ns: int) -> int:
    return time_ns // 1_000_000
