"""Goal: a new kind of fault with its verb takes three product files at most, and works everywhere.

Method: ``stall``, a server that does next to nothing, planted in a copy of the product and tried there.
"""

import json

import pytest
from support.planted_tree import PlantedTree

STALL = '''
class Stall(OfServer):
    """Let a zone's server do next to nothing."""

    colour = "#123456"
    harm = 4
    stops_server = False
    same_in_both_arms = False
    outlives_server = True

    kind: Literal["stall"]
    zone: str

    async def strike(self, zone: Zone) -> None:
        await zone.slow_down(1_000)

    async def relieve(self, zone: Zone, source: WarmSource) -> None:
        await zone.slow_down(1)


class SlowZone('''

BOARD = """
import asyncio, json
from types import SimpleNamespace
from zonelab.app.session.fault_board import Board
from zonelab.app.session.fault_requests import FaultRequest
from zonelab.cluster.zone import ZoneState
from zonelab.scenarios.faults.catalogue import CLASSES
from zonelab.studies.properties.strategies import FAULT_KINDS

done = []

async def slow_down(factor):
    done.append(factor)

class Zones(dict):
    names = ("a", "b")

async def main():
    zones = Zones({name: SimpleNamespace(name=name, state=ZoneState.RUNNING, slow_down=slow_down) for name in "ab"})
    notes = SimpleNamespace(now_ns=lambda: 0, fault_began=lambda **row: row, fault_ended=done.append)
    board = Board(zones=zones, coordinators={}, recording=notes)
    begun = await board.begin(FaultRequest(kind="stall", target="b"))
    await board.end(begun["number"])
    print(json.dumps({
        "fault": begun["fault"], "done": [done[0], done[1], done[2]["colour"]],
        "drawn": "stall" in FAULT_KINDS and "stall" in CLASSES,
    }))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> PlantedTree:
    tree = PlantedTree(tmp_path_factory.mktemp("tree"))
    tree.edit("scenarios/faults/zones.py", ("\nclass SlowZone(", STALL))
    tree.edit("scenarios/faults/catalogue.py", ("    | zones.SlowZone\n", "    | zones.SlowZone\n    | zones.Stall\n"))
    return tree


def test_it_takes_three_files_at_most(tree: PlantedTree) -> None:
    assert len(tree.touched) <= 3


def test_a_scenario_has_it_in_simulation(tree: PlantedTree) -> None:
    fault = "faults=[{kind: stall, zone: b, at_s: 0.2, for_s: 0.3}]"
    words = ("run", "steady", "--on", "sim", "--set", "load.duration_s=1", "--set", fault, "--json")
    run = json.loads(tree.zonelab(*words).stdout)
    assert run["valid"] is True
    read = "import sys, pyarrow.parquet as pq; print(pq.read_table(sys.argv[1])['fault'].to_pylist())"
    assert "0:stall b" in tree.python("-c", read, f"{run['run']}/history/faults-000001.parquet").stdout


def test_zonelab_fault_has_its_verb(tree: PlantedTree) -> None:
    assert "stall" in tree.zonelab("fault", "--help").stdout
    assert "Let a zone's server do next to nothing." in tree.zonelab("fault", "stall", "--help").stdout


def test_a_cluster_that_is_up_begins_and_ends_it_and_studies_draw_it(tree: PlantedTree) -> None:
    assert json.loads(tree.python("-c", BOARD).stdout) == {
        "fault": "1:stall b", "done": [1000, 1, "#123456"], "drawn": True,
    }  # fmt: skip
