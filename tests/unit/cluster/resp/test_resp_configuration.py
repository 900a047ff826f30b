"""Goal: what a gateway's file has wrong is refused in one line that names it.

Method: files for one zone and for two, read.
"""

import json

import pytest

from zonelab.cluster.resp.gateway.configuration import read_configuration
from zonelab.cluster.zone import ClusterError

ONE = {"zone": "a", "zones": {"a": "127.0.0.1:1"}}
TWO = {"zone": "a", "zones": {"a": "127.0.0.1:1", "b": "127.0.0.1:2"}}
WRONG_FOR_ONE = [
    ({"zone": "x"}, "zone 'x' is not among the zones: a"),
    ({"zones": {"a": "nowhere"}}, "zones.a: Value error, 'nowhere' is not accepted; accepted: HOST:PORT"),
    ({"sockets": {"x": "/tmp/x.sock"}}, "sockets ['x'] are not accepted; accepted: those of zones a"),
    ({"busy_poll_us": -1}, "busy_poll_us:"),
    ({"limits": {"busy_poll_us": 5}}, "limit busy_poll_us=5 is not accepted"),
    ({"lag": "5"}, "lag:"),
    ({"lags": {"a>x": "soon"}}, "lags"),
    ({"lags": {"a>x": "constant:1ms"}}, "link 'a>x' names no two of the zones: a"),
    ({"limits": {"frob": 1}}, "limit frob=1 is not accepted; accepted: 1 or more for"),
    ({"level": "DC_TWO"}, "level:"),
    ({"certificate": "x.pem"}, "TLS needs both"),
    ({"strict": True, "reload_scripts": True}, "reload_scripts is not accepted with strict"),
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
    ({"peers": {"b": "127.0.0.1:1"}}, "peers ['b'] are not accepted; accepted: none"),
    ({"remote_lag": "constant:1ms"}, "remote_lag is for several data centres"),
    ({"remote_lag": "1"}, "remote_lag:"),
    ({"read_repair": True, "votes": "version"}, "one or the other"),
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
