"""Goal: what a gateway's file says is what network and port are built from; what it has wrong is refused in one line.

Method: files for one zone and for several, read; what they leave open is held against the page, each number's border
is tried on both sides.
"""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from support.project_files import ROOT

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.options.hinted_handoff import HandoffSettings
from zonelab.cluster.options.versions.settings import AntiEntropySettings
from zonelab.cluster.resp.gateway.configuration import GatewayConfiguration, read_configuration
from zonelab.cluster.resp.protocol.scanner import CommandLimits
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.topology.described import Placement
from zonelab.cluster.votes.levels import Level, VoteBy
from zonelab.cluster.wiring.settings import Links, NetworkSettings, ReplicationOptions
from zonelab.cluster.zone import Address, ClusterError

ONE = {"zone": "a", "zones": {"a": "127.0.0.1:1"}}
TWO = {"zone": "a", "zones": {"a": "127.0.0.1:1", "b": "127.0.0.1:2"}}
WRONG_FOR_ONE = [
    ({"zone": "x"}, "zone 'x' is not among the zones: a"),
    ({"zones": {"a": "nowhere"}}, "zones.a: Value error, got 'nowhere'; accepted: HOST:PORT"),
    ({"sockets": {"x": "/tmp/x.sock"}}, "got sockets ['x']; accepted: sockets of zones a"),
    ({"busy_poll_us": -1}, "busy_poll_us:"),
    ({"limits": {"busy_poll_us": 5}}, "limit busy_poll_us: got 5"),
    ({"links": {"lag": "5"}}, "links.lag:"),
    ({"links": {"overrides": {"a>x": "soon"}}}, "links.overrides.a>x:"),
    ({"links": {"overrides": {"a>x": "constant:1ms"}}}, "link 'a>x' names no two of the zones: a"),
    ({"limits": {"frob": 1}}, "limit frob: got 1; accepted: 1 or more for"),
    ({"level": "DC_TWO"}, "level:"),
    ({"certificate": "x.pem"}, "TLS needs both"),
    ({"replication": {"strict": True}, "reload_scripts": True}, "reload_scripts is not accepted with strict"),
    ({"frob": 1}, "frob:"),
]
WRONG_FOR_TWO = [
    ({"topology": {"data_centres": {}}}, "topology.data_centres:"),
    ({"topology": {"data_centres": {"x": {"a": []}}}}, "tokens of zone a: got []; accepted: one or more"),
    ({"topology": {"data_centres": {"x": {"a": {"a": -1}}}}}, "token of node a: got -1; accepted: 0 to 4294967295"),
    ({"topology": {"data_centres": {"x": {"a": ["a"], "b": ["a"]}}}}, "node names: got ['a', 'a']"),
    ({"topology": {"data_centres": {"x": {"a": ["a"]}}}}, "zones ['a', 'b'] are not the topology's nodes ['a']"),
    ({"topology": {"data_centres": {"x": {"a": ["a", "b"]}}, "hash_tag": "x"}}, "hash tag: got 'x'"),
    ({"topology": {"data_centres": {"x": {"a": ["a", "b"]}}, "hash": "sha1"}}, "topology.hash:"),
    ({"topology": {"data_centres": {"x": {"a": ["a"]}, "y": {"b": ["b"]}}}}, "peers [] lack a, b"),
    ({"topology": {"data_centres": {"x": {"a": ["a"]}, "y": {"b": ["b"]}}}, "peers": {"b": "b:1"}}, "lack a"),
    ({"peers": {"b": "127.0.0.1:1"}}, "peers: got ['b']; accepted: none"),
    ({"remote_lag": "constant:1ms"}, "remote_lag is for several data centres"),
    ({"remote_lag": "1"}, "remote_lag:"),
    ({"replication": {"read_repair": True, "votes": "version"}}, "replication: Value error, read_repair: got true"),
]


@pytest.mark.parametrize(
    ("whole", "change", "said"),
    [(whole, *row) for whole, rows in ((ONE, WRONG_FOR_ONE), (TWO, WRONG_FOR_TWO)) for row in rows],
)
def test_a_wrong_configuration_is_refused_in_one_line(tmp_path, whole, change, said):
    path = tmp_path / "gateway.json"
    path.write_text(json.dumps({**whole, **change}))
    with pytest.raises(ClusterError) as refused:
        read_configuration(path)
    assert str(refused.value).startswith(f"configuration {path}: ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


PAGE = (ROOT / "docs/resp.md").read_text(encoding="utf-8")
NONE = {"", "none", "below", "`lag`"}
FILLED = {"sockets": {}, "links": Links(), "replication": ReplicationOptions(), "peers": {}, "limits": {}}
"""Settings that have no entries by default."""


def page_defaults():
    """By setting, what the first table of the page says of a file that does not have it."""
    for names, defaults in re.findall(r"^\| (`[a-z_`, ]+`) \| ([^|]*) \|", PAGE.split("## Topology")[0], re.MULTILINE):
        each = [name.strip("` ") for name in names.split(",")]
        said = [default.strip() for default in defaults.split(",")]
        yield from zip(each, said if len(said) == len(each) else said * len(each), strict=True)


def test_defaults_are_those_of_the_page():
    told = dict(page_defaults())
    configuration = GatewayConfiguration(**ONE)
    assert set(GatewayConfiguration.model_fields) == {"zone", "zones"} | set(told)
    for name, said in told.items():
        if name in ("zone", "zones"):
            continue
        value = getattr(configuration, name)
        if said in NONE:
            assert value == FILLED.get(name), name
        else:
            text = str(value)
            word = said.strip("`")
            assert text.lower() == word.lower() or float(text) == float(word), name


def test_limits_that_a_file_does_not_name_are_those_of_the_page():
    units = {"": 1, " KiB": 2**10, " MiB": 2**20}
    port = GatewayConfiguration(**ONE).port_settings()
    limits = asdict(port) | asdict(port.commands)
    told = {}
    for names, defaults in re.findall(r"^\| (`[a-z_`, ]+`) \| ([\d,]+[^|]*) \|", PAGE, re.MULTILINE):
        each, said = names.split(","), re.findall(r"([\d,]*\d)( [KM]iB)?", defaults)
        for name, (number, unit) in zip(each, said * (len(each) if len(said) == 1 else 1), strict=False):
            told[name.strip("` ")] = int(number.replace(",", "")) * units[unit]
    named = {*limits, "limits"} & set(told)
    assert len(named) >= 10
    assert {name: limits[name] for name in named} == {name: told[name] for name in named}
    assert port == PortSettings()
    assert GatewayConfiguration(**ONE).network() == NetworkSettings(seed=0, lags={})


def test_what_a_file_says_reaches_the_network_and_the_port(tmp_path):
    whole = {
        "zone": "a",
        "zones": {"a": "10.0.0.1:7001", "b": "[::1]:7002"},
        "sockets": {"b": "/run/b.sock"},
        "host": "0.0.0.0",
        "port": 6400,
        "level": "DC_QUORUM",
        "seed": 7,
        "time_factor": 0.5,
        "links": {"lag": "constant:2ms", "overrides": {"a>b": "constant:3ms"}, "coherence_ms": 1.5, "loss": 0.25},
        "password": "secret",
        "limits": {"clients_max": 3, "arguments": 4, "zone_backlog_bytes": 5, "guest_arguments": 6},
        "busy_poll_us": 9,
        "replication": {
            "hinted_handoff": {"queue": 11},
            "votes": "version",
            "anti_entropy": {"interval_ms": 12, "retention_s": 13.5},
        },
        "reload_scripts": True,
    }
    path = tmp_path / "gateway.json"
    path.write_text(json.dumps(whole))
    configuration = read_configuration(path)
    assert configuration.level is Level.DC_QUORUM
    assert configuration.addresses() == {"a": Address("10.0.0.1", 7001), "b": Address("[::1]", 7002, "/run/b.sock")}
    assert configuration.network() == NetworkSettings(
        seed=7,
        lag=ConstantLag(2),
        lags={("a", "b"): ConstantLag(3)},
        coherence_ns=1_500_000,
        loss=0.25,
        timeouts=Timeouts(factor=0.5),
        replication=ReplicationOptions(
            hinted_handoff=HandoffSettings(queue=11, queue_bytes=5),
            votes=VoteBy.VERSION,
            anti_entropy=AntiEntropySettings(interval_ms=12, retention_s=13.5),
        ),
    )
    assert configuration.port_settings() == PortSettings(
        host="0.0.0.0",
        port=6400,
        password="secret",
        clients_max=3,
        zone_backlog_bytes=5,
        busy_poll_us=9,
        reload_scripts=True,
        commands=CommandLimits(arguments=4, guest_arguments=6),
    )
    said = {"hinted_handoff": {"queue_bytes": 6}}
    told = (
        GatewayConfiguration(**{**ONE, "limits": {"zone_backlog_bytes": 5}, "replication": said}).network().replication
    )
    assert told.hinted_handoff.queue_bytes == 6
    options = {"certificate": "c.pem", "private_key": "k.pem"}
    other = GatewayConfiguration(**ONE, **options)
    assert (other.port_settings().certificate, other.port_settings().private_key) == (Path("c.pem"), Path("k.pem"))
    assert "secret" not in repr(configuration)


@pytest.mark.parametrize("zone", "abc")
def test_the_files_of_the_image_are_right(zone):
    assert read_configuration(ROOT / "docker" / "coordinators" / f"{zone}.json").zone == zone


def test_links_between_data_centres_have_their_own_lag_but_for_those_that_are_named():
    nodes = {name: f"127.0.0.1:{port}" for port, name in enumerate("abc", 1)}
    placed = {"data_centres": {"x": {"a": ["a"], "b": ["b"]}, "y": {"c": ["c"]}}}
    peers = {"a": "127.0.0.1:9", "c": "127.0.0.1:10"}
    file = {"zone": "a", "zones": nodes, "topology": placed, "peers": peers}
    file["links"] = {"overrides": {"c>a": "constant:1ms"}}
    configuration = GatewayConfiguration(**file, remote_lag="constant:9ms")
    network = configuration.network()
    far = [("a", "c"), ("b", "c"), ("c", "b")]
    assert network.lags == dict.fromkeys(far, ConstantLag(9)) | {("c", "a"): ConstantLag(1)}
    assert network.topology == Placement(**placed).layout
    assert configuration.peer_addresses() == {"a": Address("127.0.0.1", 9), "c": Address("127.0.0.1", 10)}
    assert GatewayConfiguration(**file).network().lags == {("c", "a"): ConstantLag(1)}
    with pytest.raises(ValueError, match=r"peers: got .*; accepted: a, b, c"):
        GatewayConfiguration(**{**file, "peers": {**peers, "z": "127.0.0.1:1"}})


@pytest.mark.parametrize("link", ["a>", ">a", "a", "a>b", "b>a", "a>a>a"])
def test_a_link_that_is_not_there_is_refused(link):
    assert GatewayConfiguration(**ONE, links={"overrides": {"a>a": "0"}}).network().lags == {("a", "a"): ConstantLag(0)}
    with pytest.raises(ValueError, match="link"):
        GatewayConfiguration(**ONE, links={"overrides": {link: "0"}})


LIMITS = [name for name in (*asdict(PortSettings()), *asdict(CommandLimits())) if name.endswith(("_max", "_bytes"))]


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("port", (0, 65_535), (-1, 65_536)),
        ("time_factor", (1e-9,), (0, -1)),
        ("busy_poll_us", (0, 1_000_000), (-1, 1_000_001)),
        ("password", ("x",), ("",)),
        (
            "zones",
            ({"a": "h:1"}, {"a": "h:65535"}),
            ({}, {"a": "h:0"}, {"a": "h:65536"}, {"a": ":1"}, {"a": "h:"}, {"a": "h"}),
        ),
        *(("limits", ({limit: 1},), ({limit: 0}, {limit: -1})) for limit in LIMITS),
        ("limits", (), ({"port": 5}, {"in_flight_begin": 5}, {"host": 1})),
    ],
)
def test_a_number_is_accepted_up_to_its_border_and_refused_beyond(name, accepted, refused):
    for value in accepted:
        assert getattr(GatewayConfiguration(**{**ONE, name: value}), name) == value
    for value in refused:
        with pytest.raises(ValueError, match=name.removesuffix("s")):
            GatewayConfiguration(**{**ONE, name: value})
