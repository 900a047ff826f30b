"""Goal: what links are asked to be they are, and asking again changes nothing. Method: real links in virtual time."""

from random import Random

from zonelab.cluster.admin.links import LinkControls, LinkState
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.link import Cut, Link
from zonelab.cluster.sim.runtime import SimRuntime


def controls():
    runtime = SimRuntime(seed=1)
    link = Link(source="a", target="b", runtime=runtime, lag=parse_lag("constant:1ms"), random=Random(1))
    return LinkControls({("a", "b"): link}), link, runtime


def test_a_link_that_is_cut_is_not_cut_again_so_nobody_is_told_twice():
    one, link, _ = controls()
    breaks = []
    link.on_break(lambda: breaks.append(1))
    for _ in range(3):
        one.apply({"a>b": LinkState(cut=Cut.DROP)})
    assert breaks == [1]


def test_a_cut_may_become_a_hold_and_back():
    one, link, _ = controls()
    one.apply({"a>b": LinkState(cut=Cut.DROP)})
    one.apply({"a>b": LinkState(cut=Cut.HOLD)})
    assert link.cut_mode is Cut.HOLD
    one.apply({"a>b": LinkState()})
    assert link.cut_mode is None


def test_what_a_held_link_was_sent_arrives_when_it_is_mended():
    one, link, runtime = controls()
    arrived = []
    one.apply({"a>b": LinkState(cut=Cut.HOLD)})
    link.send(lambda: arrived.append(runtime.now_ns()))
    runtime.run(for_ns=5_000_000)
    assert arrived == []
    one.heal()
    runtime.run(for_ns=5_000_000)
    assert arrived == [6_000_000]


def test_the_same_lag_again_does_not_draw_anew_and_none_is_the_first_one():
    one, link, _ = controls()
    one.apply({"a>b": LinkState(lag="constant:7ms")})
    lag = link.lag
    one.apply({"a>b": LinkState(lag="constant:7ms", loss=0.5)})
    assert link.lag is lag
    one.apply({"a>b": LinkState(loss=0.5)})
    assert (str(link.lag), link.loss) == ("constant:1ms", 0.5)


def test_messages_are_doubled_as_long_as_that_is_wanted():
    one, link, runtime = controls()
    arrived = []
    one.apply({"a>b": LinkState(duplicate=1, duplicate_after_ms=3)})
    link.send(lambda: arrived.append("first"))
    runtime.run(for_ns=20_000_000)
    one.apply({"a>b": LinkState()})
    link.send(lambda: arrived.append("second"))
    runtime.run(for_ns=20_000_000)
    assert arrived == ["first", "first", "second"]
