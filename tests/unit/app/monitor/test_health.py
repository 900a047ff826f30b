"""Goal: the banner of a live page names every zone in trouble, and nobody who is well.

Method: rows of zones as pages show them.
"""

import pytest

from zonelab.app.monitor.health import ALL_WELL, health_of


def row(zone, *, server="running", coordinator="running", **reached):
    told = None if reached.pop("silent", False) else {"connected": reached, "peers": {}}
    return {"zone": zone, "server": {"state": server}, "coordinator": {"state": coordinator}, "statistics": told}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row("a", b=True), row("b", silent=True)], ALL_WELL),
        ([row("a", b=False, c=False), row("c", server="dead", coordinator="dead")], "zone c is down; a cannot reach b"),
        ([row("a", server="paused", a=False)], "the server of a is paused"),
        ([row("a", coordinator="stopped", b=False)], "the coordinator of a is stopped"),
        ([row("a", b=False, c=False)], "a cannot reach b and c"),
        (
            [row(name, server="dead") for name in "abcdef"],
            "; ".join([*(f"the server of {name} is dead" for name in "abcd"), "and 2 further troubles"]),
        ),
    ],
)  # fmt: skip
def test_the_banner_names_who_is_in_trouble(rows, words):
    found = health_of(rows)
    assert (found["well"], found["words"]) == (words == ALL_WELL, words)


def test_whom_a_zone_cannot_reach_is_told_of_those_that_answered():
    rows = [row("a", a=True, b=False), row("b", silent=True), row("c", a=True), row("d", server="dead", d=False)]
    assert health_of(rows)["away"] == {"a": ["b"], "c": [], "d": ["d"]}
