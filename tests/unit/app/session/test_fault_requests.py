"""Goal: what can be asked of a cluster is understood, and what cannot be is told. Method: single cases."""

import pytest
from pydantic import ValidationError

from zonelab.app.session.fault_requests import FaultKind, FaultRequest
from zonelab.app.session.targets import Places
from zonelab.cluster.admin.links import LinkState
from zonelab.cluster.links.link import Cut
from zonelab.scenarios.durations import parse_duration_s
from zonelab.scenarios.errors import NotAccepted

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
        ({"kind": "cut", "target": "b", "lag": "0"}, "cut takes no lag"),
        ({"kind": "lag", "target": "b"}, "lag needs lag"),
        ({"kind": "loss", "target": "b"}, "loss needs share"),
        ({"kind": "loss", "target": "b", "share": 1}, "less than 1"),
        ({"kind": "slow", "target": "b", "factor": 1}, "greater than 1"),
        ({"kind": "explode", "target": "b"}, "'cut'"),
        ({"kind": "cut", "target": "b", "for_s": 0}, "greater than 0"),
        ({"kind": "cut", "target": "b", "how": "gently"}, "not permitted"),
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
        FaultRequest(kind="hold", target="b"),
    ):
        state = request.on(state)
    assert state == LinkState(lag="constant:5ms", loss=0.1, cut=Cut.HOLD)


def test_every_kind_of_fault_has_a_name_that_says_where_and_how_much():
    amounts = {"lag": {"lag": "0"}, "loss": {"share": 0.1}, "duplicate": {"share": 0.5}, "slow": {"factor": 4}}
    labels = [FaultRequest(kind=kind, target="b", **amounts.get(kind, {})).label for kind in FaultKind]
    assert labels == [
        "cut b",
        "hold b",
        "lag b 0",
        "loss b 10%",
        "duplicate b 50%",
        "slow b x4",
        "pause b",
        "memory b",
        "kill b",
        "coordinator pause b",
        "coordinator kill b",
        "port pause b",
        "port kill b",
    ]
