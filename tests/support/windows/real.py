"""The same courses on three real zones: no time passes but on the clocks, and each command is over before the next."""

from support.engine.dyno import SHARDS
from support.windows import clients, crashes, lags, pipelines, races, replicas, zones
from support.windows.stage import Course, Stage, Wrapper

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.real.cluster import RealCluster
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import ZoneState
from zonelab.engine.ports import Command, Connection, Reply

MS = 1_000_000
PATIENCE_NS = 30_000 * MS

NEEDS_TIME = (
    "zone_server_down_while_the_handler_runs",
    "v2_handler_after_an_outage",
    "vote_tie_of_two_pops_quorum",
    "vote_tie_of_two_pops_safe_quorum",
    "vote_of_three_on_two_pops_quorum",
    "vote_on_a_bulk_pop_while_pushes_arrive_quorum",
    "vote_on_a_bulk_pop_while_pushes_arrive_safe_quorum",
    "vote_on_a_pop_while_pushes_arrive_safe_quorum",
)
"""A handler in the background, and commands that must meet on the way."""

COURSES: dict[str, Course] = {
    name: course
    for module in (crashes, races, clients, replicas, zones, pipelines)
    for name, course in module.COURSES.items()
    if name not in NEEDS_TIME
} | {name: lags.COURSES[name] for name in ("lag_payload_missed_dc_one", "lag_payload_missed_quorum")}


class RealStage(Stage):
    """``cluster`` is running. It is put in order before each course."""

    cluster: RealCluster

    def __init__(self, *, compat: bool, cluster: RealCluster) -> None:
        super().__init__(compat=compat, cluster=cluster)

    async def play_here(self, course: Course) -> str:
        for link in self.cluster.links.values():
            link.mend()
            link.set_lag(parse_lag("0"))
        for zone in self.cluster.zones.values():
            assert zone.state is ZoneState.RUNNING
        await self.cluster.network.connected()
        for name in SHARDS:
            await self.cluster.direct(name).execute(("FLUSHALL",))
        return await course(self)

    async def play_named(self, window: str) -> str:
        return await self.play_here(COURSES[window])

    def connection(self, zone: str, level: Level) -> Connection:
        return Settled(super().connection(zone, level), self, zone)

    async def sleep(self, duration_ms: int) -> None:
        for zone in SHARDS:
            self.cluster.clock(zone).jump(duration_ms * MS)

    def answered(self, zone: str) -> int:
        """Commands through the coordinator of ``zone`` that every zone has answered."""
        return sum(counts.commands for counts in self.cluster.coordinators[zone].statistics.levels.values())


class Settled(Wrapper):
    """Goes on only when all zones have answered, those included whose answer nobody waited for."""

    def __init__(self, inner: Connection, stage: RealStage, zone: str) -> None:
        super().__init__(inner)
        self._stage, self._zone = stage, zone

    async def execute(self, *commands: Command) -> list[Reply]:
        stage, zone = self._stage, self._zone
        runtime = stage.cluster.runtime
        expected = stage.answered(zone) + len(commands)
        try:
            return await self.inner.execute(*commands)
        finally:
            deadline_ns = runtime.now_ns() + PATIENCE_NS
            while stage.answered(zone) < expected:
                assert runtime.now_ns() < deadline_ns, "a zone never answered"
                await runtime.sleep(MS // 4)
