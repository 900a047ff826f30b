"""A coordinator's report about itself over HTTP."""

from typing import Any

from zonelab.cluster.admin.latency import LatencyProbe, quantile_s
from zonelab.cluster.admin.links import LinkControls
from zonelab.cluster.admin.rates import CoordinatorCounts, Recent
from zonelab.cluster.admin.server_troubles import troubles_of
from zonelab.cluster.resp.gateway.gateway import ZoneGateway
from zonelab.cluster.votes.levels import Decision
from zonelab.cluster.zone import Address

QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
REMOTE = ("sent", "failed_over", "dropped", "failed")
"""Fates of a batch of writes for another data centre; one may be sent and fail, or fail over."""

_REPAIRS = ("repairs", "hints replayed", "written back", "anti-entropy copied")
_DIFFERED = (
    Decision.MAJORITY,
    Decision.FIRST_ARRIVED,
    Decision.NEWEST,
    Decision.BY_ELEMENT,
    Decision.NO_QUORUM,
)


class GatewayView:
    """One running gateway, seen from its administration."""

    def __init__(self, gateway: ZoneGateway) -> None:
        self._gateway = gateway
        self.zone = gateway.zone
        self.links = LinkControls(gateway.links)
        self.probe = LatencyProbe(random=gateway.runtime.random("latency samples"))
        self.probe.attach(gateway.server)
        self._recent = Recent(time_ns=gateway.runtime.now_ns())
        self._troubles: tuple[str, ...] = ()

    def health(self) -> dict[str, Any]:
        """``healthy``: its own zone's server is reached, so clients are served at least at DC_ONE."""
        connected = self._gateway.connected_to
        return {"zone": self.zone, "healthy": connected[self.zone], "connected": connected}

    def topology(self) -> dict[str, Any]:
        return {**self._gateway.topology(), "links": self.links.described()}

    def statistics(self) -> dict[str, Any]:
        """Counts since the coordinator began, and ``recent``: rates and latencies of the last seconds.

        ``server_troubles``: why the own zone's server refuses writes, if it does.

        ``deviations``: errors and differing replies by command, zone and kind of reply.
        ``unknown_scripts``: which zones' servers lack scripts that others have carried out, how often that showed and
        since when.

        ``divergence``: votes in which zones answered differently, before or after the decision. ``repairs`` is what
        all options wrote to zones that were behind, ``options`` what each has done. ``links``: ``in_flight`` is
        the length of a link's queue. ``peers``: which coordinators of other data centres are reached; ``remote``: what
        became of writes for these.
        """
        totals = self._totals()
        recent = self._recent.until(self._counted(totals))
        return {**totals, "recent": recent, "server_troubles": self._troubles}

    def sample(self) -> None:
        """To be called once each ``rates.PERIOD_S``, for what is recent."""
        self._recent.sample(self._counted(self._totals()))

    async def look_at_server(self) -> None:
        """Ask the own zone's server whether it takes writes."""
        host, _, port = self._gateway.topology()["zones"][self.zone].rpartition(":")
        self._troubles = await troubles_of(Address(host, int(port)))

    def _counted(self, totals: dict[str, Any]) -> CoordinatorCounts:
        return CoordinatorCounts.of(totals, time_ns=self._gateway.runtime.now_ns())

    def _totals(self) -> dict[str, Any]:
        statistics = self._gateway.statistics()
        coordinator = statistics["coordinator"]
        levels, options = coordinator["levels"], coordinator["options"]
        return {
            "zone": self.zone,
            "port": statistics["port"],
            "levels": levels,
            "zone_failures": coordinator["zone_failures"],
            "unknown_scripts": coordinator["unknown_scripts"],
            "deviations": coordinator["deviations"],
            "divergence": sum(map(_disagreements, levels.values())),
            "repairs": sum(options.get(name, 0) for name in _REPAIRS),
            "options": options,
            "connected": self._gateway.connected_to,
            "peers": statistics["peers"],
            "remote": {what: coordinator[f"remote_{what}"] for what in REMOTE} if statistics["peers"] else {},
            "links": self.links.described(),
            "latency": {"quantiles_ms": self._quantiles_ms(), "histograms": self.probe.as_dict()},
        }

    def set_levels(self, *, read: Any, write: Any) -> None:
        self._gateway.set_level(read=read, write=write)

    def _quantiles_ms(self) -> dict[str, float | None]:
        counts = [sum(column) for column in zip(*(one.counts for one in self.probe.histograms.values()), strict=True)]
        found = {name: quantile_s(counts, share) for name, share in QUANTILES.items()}
        return {name: None if value is None else round(value * 1e3, 3) for name, value in found.items()}


def _disagreements(counts: dict[str, Any]) -> int:
    return int(counts["late_disagreements"] + sum(counts["decisions"][decision] for decision in _DIFFERED))
