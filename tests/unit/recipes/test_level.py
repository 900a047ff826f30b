"""Goal: a new consistency level takes three product files at most, as CONTRIBUTING says, and then works everywhere.

Method: DC_ALL, which needs equal replies of all zones, planted in a copy of the product and tried there.
"""

import json
from pathlib import Path

import pytest
from support.planted_tree import PlantedTree

COLOUR = "#d55e00"

VOTES = """
import json
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from zonelab.cluster.votes.rules import Rules
from zonelab.cluster.votes.vote import Vote

def outcome(*replies):
    vote = Vote(Level.DC_ALL, zones=3)
    used = next(count for count, reply in enumerate(replies, 1) if vote.submit(count - 1, reply))
    return [used, vote.decision]

read = Rules(Level.DC_ALL, zones=3)["GET"]
print(json.dumps({
    "equal": outcome(1, 1, 1), "one differs": outcome(1, 1, 2), "read": [read.zones, read.needed],
    "studied": Level.DC_ALL in LEVELS_OF_ONE_DC,
}))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> PlantedTree:
    tree = PlantedTree(tmp_path_factory.mktemp("tree"))
    tree.edit(
        "cluster/votes/levels.py",
        ('    DC_EACH_SAFE_QUORUM = "DC', '    DC_ALL = "DC_ALL"\n    DC_EACH_SAFE_QUORUM = "DC'),
        (
            "            case Level.DC_EACH_SAFE_QUORUM:\n",
            "            case Level.DC_ALL:\n"
            "                return LevelRule(on_disagreement=Decision.NO_QUORUM, quorum=lambda zones: zones)\n"
            "            case Level.DC_EACH_SAFE_QUORUM:\n",
        ),
    )
    tree.edit(
        "analysis/figures/plot_style.py", ("LEVEL_COLOURS = {\n", f'LEVEL_COLOURS = {{\n    "DC_ALL": "{COLOUR}",\n')
    )
    return tree


def test_it_takes_three_files_at_most(tree: PlantedTree) -> None:
    assert len(tree.touched) <= 3


def test_its_rule_decides_votes_and_the_studies_take_it(tree: PlantedTree) -> None:
    assert json.loads(tree.python("-c", VOTES).stdout) == {
        "equal": [3, "agreed"], "one differs": [3, "no_quorum"], "read": [3, 3], "studied": True,
    }  # fmt: skip


def test_the_command_line_takes_it_a_run_has_a_verdict_and_a_plot_its_colour(tree: PlantedTree) -> None:
    words = ("run", "steady", "--on", "sim", "--set", "load.duration_s=1", "--json")
    run = json.loads(tree.zonelab(*words, "--level", "DC_ALL").stdout)
    assert (run["level"], run["valid"]) == ("DC_ALL", True)
    tree.zonelab("plot", run["run"], "--kind", "latency", "--out", "latency.svg")
    assert COLOUR in Path(tree.folder, "latency.svg").read_text(encoding="utf-8")


def test_without_a_rule_nothing_starts(tmp_path: Path) -> None:
    tree = PlantedTree(tmp_path)
    tree.edit("cluster/votes/levels.py", ('    DC_ONE = "DC_ONE"\n', '    DC_ONE = "DC_ONE"\n    DC_ALL = "DC_ALL"\n'))
    assert "DC_ALL" in tree.python("-c", "import zonelab.cluster.votes.levels", code=1).stderr
