"""Goal: what can be asked of a cluster is understood, and what cannot be is told. Method: single cases."""

import pytest
from pydantic import ValidationError

from zonelab.app.session.fault_requests import FaultRequest
from zonelab.app.session.targets import Places
from zonelab.cluster.admin.links import LinkState
from zonelab.cluster.links.link import Cut
from zonelab.scenarios.durations import parse_duration_s
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.faults.catalogue import CLASSES, UP
from zonelab.scenarios.faults.fault import Fault

ZONES = Places.of_zones(("a", "b", "c"))


@pytest.mark.parametrize(
    ("target", "links"),
    [
        ("b", ("a>b", "b>a", "b>c", "c>b")),
        ("a:b", ("a>b", "b>a")),
        ("b:a", ("a>b", "b>a")),
        ("c>a", ("c>a",)),
        ("all", ("a>b", "a>c", "b>a", "b>c", "c>a", "c>b")),
    ],
)
def test_links_are_those_of_a_zone_of_a_pair_or_of_one_direction(target, links):
    assert ZONES.links_of(target) == links


@pytest.mark.parametrize("target", ["", "d", "a:d", "a>a", "a:b:c", "a>", ":", "a:b>c", "*"])
def test_links_that_are_not_there_are_refused_with_those_that_are(target):
    with pytest.raises(NotAccepted, match=r"accepted: a, b, c, a:b, a:c, b:c, a>b \(one way\), all"):
        ZONES.links_of(target)


def test_one_zone_has_no_links():
    with pytest.raises(NotAccepted, match="one zone alone has no links"):
        Places.of_zones(("a",)).links_of("all")


def test_a_zone_that_is_not_there_is_refused():
    assert ZONES.nodes_of("c") == ("c",)
    with pytest.raises(NotAccepted, match=r"'z'.*accepted: a, b, c"):
        ZONES.nodes_of("z")


@pytest.mark.parametrize(("text", "seconds"), [("10s", 10), ("500ms", 0.5), ("2m", 120), ("1h", 3600), ("0.25", 0.25)])
def test_durations_are_read(text, seconds):
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "-1s", "s", "1d", "1e3", "10 s x", "nan"])
def test_other_durations_are_refused(text):
    with pytest.raises(NotAccepted, match="500ms, 10s, 2m, 1h"):
        parse_duration_s(text)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"kind": "cut", "target": "b", "lag": "0"}, "cut takes no lag; accepted: mode"),
        ({"kind": "lag", "target": "b"}, "lag needs lag"),
        ({"kind": "loss", "target": "b"}, "loss needs share"),
        ({"kind": "loss", "target": "b", "share": 1}, "share: got 1; accepted: less than 1"),
        ({"kind": "slow", "target": "b", "factor": 1}, "factor: got 1; accepted: greater than 1"),
        ({"kind": "slow", "target": "b"}, "slow needs factor"),
        ({"kind": "lag", "target": "b", "lag": "soon"}, "lag: unknown lag 'soon'; accepted: 0, 2ms"),
        ({"kind": "kill", "target": "b", "restart": "wipe"}, "restart: got 'wipe'; accepted: keep, warm"),
        ({"kind": "explode", "target": "b"}, "kind: got 'explode'; accepted: lag, loss, duplicate, cut, clog, kill, "),
        ({"kind": "cutt", "target": "b"}, "kind: got 'cutt' .did you mean cut"),
        ({"kind": "power_failure", "target": "b"}, "got 'power_failure' .only a simulated machine"),
        ({"kind": "cut", "target": "b", "for_s": 0}, "greater than 0"),
        ({"kind": "pause", "target": "b", "zone": "a"}, "pause takes no zone"),
    ],
)
def test_a_fault_needs_what_belongs_to_its_kind_and_takes_nothing_else(values, words):
    with pytest.raises(ValidationError, match=words):
        FaultRequest(**values)


def test_faults_lie_over_each_other_and_the_later_one_counts():
    state = LinkState()
    for request in (
        FaultRequest(kind="lag", target="b", lag="constant:5ms"),
        FaultRequest(kind="cut", target="b"),
        FaultRequest(kind="loss", target="b", share=0.1),
        FaultRequest(kind="clog", target="b"),
    ):
        state = state.model_copy(update=request.fault.link_state)
    assert state == LinkState(lag="constant:5ms", loss=0.1, cut=Cut.HOLD)


def test_every_kind_of_fault_has_a_name_that_says_where_and_how_much():
    amounts = {"lag": {"lag": "0"}, "loss": {"share": 0.1}, "duplicate": {"share": 0.5}, "slow": {"factor": 4}}
    labels = [FaultRequest(kind=kind, target="b", **amounts.get(kind, {})).label for kind in UP]
    assert labels == [
        *("lag b 0", "loss b 10%", "duplicate b 50%", "cut b", "clog b"),
        *("kill b", "wipe b", "pause b", "slow b x4", "memory b", "disk_full b"),
        *("coordinator_crash b", "coordinator_pause b", "port_crash b", "port_pause b"),
    ]


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind not in UP])
def test_of_a_kind_that_a_cluster_cannot_have_it_is_said_why(kind):
    with pytest.raises(ValidationError) as refused:
        FaultRequest(kind=kind, target="b")
    assert CLASSES[kind].not_up in str(refused.value)
    assert CLASSES[kind].not_up != Fault.not_up
