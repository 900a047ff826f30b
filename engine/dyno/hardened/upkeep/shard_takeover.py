"""Which shards an instance serves: its own, and those of zones that do not serve theirs."""

from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.dyno.hardened.mechanisms import Hardening

BEATS = 3
"""A lease on a shard is renewed so many times within its length."""


class ServedShards:
    """The own shard always; another one under a lease, which ends by itself and is not renewed once its zone is back.

    The leases on shards only spare work: what a message is safe by is its own lease.
    """

    def __init__(self, context: HardenedContext) -> None:
        self._context = context
        self._until_ms: dict[str, int] = {}
        self._began_ms = context.clock.now_ms()

    @property
    def shards(self) -> list[str]:
        settings, now_ms = self._context.settings, self._context.clock.now_ms()
        return [settings.shard, *(shard for shard, until_ms in self._until_ms.items() if until_ms > now_ms)]

    @property
    def interval_ms(self) -> int:
        return max(1, self._context.settings.takeover_ms // BEATS)

    async def renew(self) -> None:
        """Tell that the own shard is served, and take over those that nobody serves."""
        if not self._context.settings.has(Hardening.SHARD_TAKEOVER):
            return
        settings, now_ms = self._context.settings, self._context.clock.now_ms()
        ends_ms = now_ms + settings.takeover_ms
        servers = await self._context.steps.servers()
        zone, until_ms = servers.get(settings.shard, ("", 0))
        if zone != settings.shard or until_ms < ends_ms - self.interval_ms:
            await self._context.steps.serve(settings.shard, settings.shard, now_ms=now_ms, ends_ms=ends_ms)
        if now_ms < self._began_ms + settings.takeover_ms:
            return  # the others may still be starting
        for shard in settings.shards:
            if shard != settings.shard:
                zone, until_ms = servers.get(shard, ("", 0))
                await self._renew_other(shard, zone, until_ms, now_ms=now_ms, ends_ms=ends_ms)

    async def _renew_other(self, shard: str, zone: str, until_ms: int, *, now_ms: int, ends_ms: int) -> None:
        settings = self._context.settings
        free = until_ms + settings.clock_margin_ms < now_ms
        if not free and zone != settings.shard:
            self._until_ms.pop(shard, None)
        elif await self._context.steps.serve(shard, settings.shard, now_ms=now_ms, ends_ms=ends_ms):
            if shard not in self._until_ms:
                self._context.counters.taken_over += 1
            self._until_ms[shard] = ends_ms
        else:
            self._until_ms.pop(shard, None)
