"""Goal: a session has what was asked for, each setting up to its borders, and else what is stated here.

Method: the settings by themselves; places of servers by numbers and by name.
"""

from pathlib import Path
from typing import Any

import pytest

from zonelab.app.session.settings import SessionSettings, checked_settings, counted, read_topology
from zonelab.cluster.wiring.settings import Links, ReplicationOptions
from zonelab.scenarios.errors import NotAccepted

HERE = Path("/runs")
DEFAULTS = {
    **{"zones": 3, "dcs": 1, "nodes": 1, "data_centres": {}, "hash": "murmur", "hash_tag": None, "kind": "process"},
    **{"level": "DC_QUORUM", "links": Links().model_dump(), "dc_lag": None, "port": 7401, "monitor_port": 0},
    **{
        "time_factor": 1.0,
        "busy_poll_us": 200,
        "persistence": "aof-everysec",
        "notify_keyspace_events": None,
        "seed": 0,
        "reload_scripts": False,
    },
    **{"replication": ReplicationOptions().model_dump(mode="json"), "password": False},
    **{"runs": "/runs", "command": "zonelab up"},
}


def settings(**given: Any) -> SessionSettings:
    return checked_settings(runs=HERE, **given)


def test_what_is_not_asked_for_is_as_stated_and_the_password_is_never_told() -> None:
    assert settings().recorded() == DEFAULTS
    made = settings(password="secret", seed=7)
    assert made.recorded() == {**DEFAULTS, "password": True, "seed": 7}
    assert "secret" not in repr(made)


@pytest.mark.parametrize(
    ("name", "least", "most", "beyond"),
    [
        *[("zones", 1, 7, (0, 8)), ("nodes", 1, 10, (0, 33)), ("port", 0, 65_533, (-1, 65_534))],
        *[("monitor_port", 0, 65_535, (-1, 65_536)), ("time_factor", 1e-9, 1_000, (0, 1_000.1))],
        *[("busy_poll_us", 0, 1_000_000, (-1, 1_000_001))],
    ],
)
def test_a_number_is_accepted_up_to_its_borders(
    name: str, least: float, most: float, beyond: tuple[float, float]
) -> None:
    for number in (least, most):
        assert getattr(settings(**{name: number}), name) == number
    for number in beyond:
        with pytest.raises(NotAccepted, match="got '?" + str(number).replace(".", r"\.")) as error:
            settings(**{name: number})
        assert str(error.value).startswith("--" + name.replace("_", "-"))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"dcs": 3, "zones": 2, "nodes": 6}, "36 servers are too many; accepted: 1 to 32"),
        ({"dcs": 4}, "--dcs: got '4'; "),
        ({"port": 65_534}, "--port: got 65534; accepted: 0 to 65533, since 3 servers take a port each"),
        (
            {"data_centres": {"x": {"x": 1}, "w": {"y": 1}}},
            "duplicate names ['x', 'w', 'x', 'y']: data centres",
        ),
        ({"data_centres": {"x": {"a": 2}, "a1": {"b": 1}}}, "duplicate names ['x', 'a1', 'a', 'b', 'a1', 'a2']"),
        ({"data_centres": {"x": {"all": 1}}}, "name 'all' is reserved: it means every link"),
        ({"dc_lag": "2ms"}, "--dc-lag is for several data centres, of which there is one"),
        ({"links": {"overrides": {"a>a": "1ms"}}}, "links.overrides: got 'a>a'; accepted: two of a, b, c, as FROM>TO"),
        ({"links": {"overrides": {"a>z": "1ms"}}}, "links.overrides: got 'a>z'; accepted: two of a, b, c, as FROM>TO"),
        ({"dcs": 2, "dc_lag": "far"}, "--dc-lag: got 'far'; unknown lag 'far'"),
        ({"nodes": 2, "hash_tag": "{"}, "hash tag: got '{'; accepted: two ASCII characters"),
        ({"data_centres": {"x": {"a": 2, "a1": 1}}}, "node names: got"),
        ({"data_centres": {"x": dict.fromkeys("abcdefgh", 1)}}, "accepted: 1 to 7"),
        ({"level": "ALL"}, "--level: got 'ALL'; "),
        ({"dcs": 2, "hash_tag": "{}"}, "--hash-tag '{}' is for zones of several servers; each has one here"),
        ({"hash_tag": "{}"}, "--hash-tag '{}' is for zones of several servers; each has one here"),
        ({"replication": {"strict": True}, "reload_scripts": True}, "--reload-scripts is not accepted with --strict"),
        ({"kind": "steam"}, "--on: got 'steam'; "),
        ({"replication": {"strict": True, "read_repair": True}}, "strict: got true; accepted: false with"),
        ({"replication": {"anti_entropy": {"interval_ms": 0}}}, "--anti-entropy: got '0'; "),
        ({"dcs": 2, "replication": {"anti_entropy": {}}}, "anti_entropy needs one data centre"),
        ({"links": {"lag": "gamma:1ms"}}, "--lag: got 'gamma:1ms'; unknown lag"),
        ({"password": ""}, "--password: got ''; "),
    ],
)
def test_what_does_not_fit_together_is_told(given: dict[str, Any], told: str) -> None:
    with pytest.raises(NotAccepted) as error:
        settings(**given)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("given", "dcs", "nodes"),
    [
        ({"zones": 2}, 1, ("a", "b")),
        ({"zones": 2, "nodes": 3}, 1, ("a1", "a2", "a3", "b1", "b2", "b3")),
        ({"dcs": 2, "zones": 2}, 2, ("a", "b", "c", "d")),
        ({"dcs": 3, "zones": 1, "nodes": 2}, 3, ("a1", "a2", "b1", "b2", "c1", "c2")),
        ({"data_centres": {"east": {"y": 1, "x": 1}}}, 1, ("y", "x")),
        ({"data_centres": {"east": {"y": 2}, "west": {"x": 1}}}, 2, ("y1", "y2", "x")),
    ],
)
def test_nodes_are_named_by_zone_and_number_and_take_ports_in_that_order(
    given: dict[str, Any], dcs: int, nodes: tuple[str, ...]
) -> None:
    made = settings(**given, port=9_000)
    assert (len(made.layout.dcs), made.names) == (dcs, nodes)
    assert [made.port_of(node) for node in nodes] == list(range(9_000, 9_000 + len(nodes)))
    assert settings(**given, port=0).port_of(nodes[-1]) is None


def test_where_the_servers_are_is_asked_for_by_numbers_or_by_a_file(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("dcs", "zones", "nodes", "hash_tag"))
    assert counted(**nothing, file=None) == ({"zones": 3}, ["--zones 3"])
    asked = {**nothing, "dcs": 2, "nodes": 3, "hash_tag": "{ }"}
    assert counted(**asked, file=None) == (
        {"dcs": 2, "nodes": 3, "hash_tag": "{ }", "zones": 3},
        ["--dcs 2", "--nodes 3", "--hash-tag '{ }'", "--zones 3"],
    )
    file = tmp_path / "a place.yaml"
    file.write_text("data_centres: {e: {a: 2, b: 2}}\nhash_tag: '{}'\nlinks: {lag: 3ms, overrides: {a1>b1: 9ms}}\n")
    given, words = counted(**nothing, file=file)
    assert words == [f"--topology '{file}'"]
    assert given == read_topology(file)
    assert (given["data_centres"], given["hash_tag"]) == ({"e": {"a": 2, "b": 2}}, "{}")
    assert given["links"] == Links(lag="3ms", overrides={"a1>b1": "9ms"})
    assert settings(**given).links == given["links"]
    with pytest.raises(NotAccepted, match=r"--topology excludes --dcs, --nodes, --hash-tag"):
        counted(**asked, file=file)
