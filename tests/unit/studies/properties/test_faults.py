"""Goal: a state machine's troubles leave a cluster as they should, and end. Method: one trouble each, by hand."""

import pytest

from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.server import ServerSettings
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Persistence, ZoneState
from zonelab.engine.ports import Unavailable
from zonelab.studies.properties.faults import Trouble, Troubles

MS = 1_000_000


class Stage:
    def __init__(self, persistence: Persistence = Persistence.AOF_NO) -> None:
        server = ServerSettings(persistence=persistence)
        self.cluster = SimCluster(("a", "b", "c"), SimSettings(seed=1, server=server))
        self.troubles = Troubles(self.cluster)
        self.do(self.cluster.start())

    def do(self, action):
        return self.cluster.runtime.run_until_complete(action)

    def pass_ms(self, duration_ms: int) -> None:
        self.cluster.runtime.run(for_ns=duration_ms * MS)

    def write(self, key: str, *, zone: str = "a", level: Level = Level.DC_ONE) -> None:
        self.do(self.cluster.connection(zone, level).execute(("SET", key, "v")))
        self.pass_ms(10)

    def keys(self, zone: str) -> list[bytes]:
        return sorted(self.do(self.cluster.direct(zone).execute(("KEYS", "*")))[0])


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        (Trouble.KILL_KEEP, [b"before"]),
        (Trouble.KILL_WIPE, []),
        (Trouble.KILL_WARM, [b"before", b"meanwhile"]),
        (Trouble.POWER_FAILURE, []),
    ],
)
def test_a_zone_comes_back_with_what_its_trouble_says(kind: Trouble, left: list[bytes]) -> None:
    stage = Stage()
    stage.write("before")
    stage.do(stage.troubles.kill("b", kind))
    assert stage.troubles.dead_zones() == ["b"]
    assert "b" not in stage.troubles.free_zones()
    stage.write("meanwhile")
    stage.do(stage.troubles.revive("b"))
    stage.pass_ms(12_000)
    assert stage.cluster.zones["b"].state is ZoneState.RUNNING
    assert stage.keys("b") == left
    assert len(stage.troubles) == 0


def test_without_another_zone_that_runs_a_zone_comes_back_with_its_own_files() -> None:
    stage = Stage()
    stage.write("before")
    for zone in "abc":
        stage.do(stage.troubles.kill(zone, Trouble.KILL_WARM))
    stage.do(stage.troubles.heal())
    stage.pass_ms(12_000)
    assert [stage.keys(zone) for zone in "abc"] == [[b"before"]] * 3


def test_a_coordinator_that_crashed_refuses_its_clients_until_its_time_is_over() -> None:
    stage = Stage()
    stage.do(stage.troubles.crash_coordinator("b", for_ms=100))
    assert stage.troubles.free_coordinators() == []
    with pytest.raises(Unavailable):
        stage.write("refused", zone="b")
    stage.write("meanwhile", level=Level.DC_SAFE_QUORUM)
    stage.pass_ms(12_000)
    assert len(stage.troubles) == 0
    assert stage.troubles.free_coordinators() == ["a", "b", "c"]
    stage.write("served", zone="b", level=Level.DC_SAFE_QUORUM)
    assert stage.keys("b") == [b"served"]
    assert stage.keys("c") == [b"meanwhile", b"served"]
