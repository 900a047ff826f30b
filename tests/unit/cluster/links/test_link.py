"""Goal: a link delays, loses and holds messages as TCP does, in order. Method: single cases in virtual time."""

from random import Random

import pytest
from support.cluster.timers import CountedTimers

from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.link import RETRANSMIT_NS, RETRANSMITS_MAX, Cut, Link

MS = 1_000_000


class Way:
    """A link and the messages that came over it, with their times in ms."""

    def __init__(self, lag="0", random=None, coherence_ms=0):
        self.runtime = CountedTimers()
        self.arrived = []
        self.link = Link(
            source="a",
            target="b",
            runtime=self.runtime,
            lag=parse_lag(lag),
            random=random or Random(1),
            coherence_ns=coherence_ms * MS,
        )

    def send(self, *messages):
        for message in messages:
            self.link.send(lambda message=message: self.arrived.append((message, self.runtime.now_ns() / MS)))

    def run(self, duration_ms=100_000):
        self.runtime.run(for_ns=duration_ms * MS)

    def do(self, steps):
        """Carry out ``steps`` one after another, each a number to send or a verb with what it takes."""
        for step in steps.split(", "):
            verb, _, what = step.partition(" ")
            if verb == "lag":
                self.link.set_lag(parse_lag(what))
            elif verb in ("hold", "drop"):
                self.link.cut(Cut(verb))
            elif verb == "mend":
                self.link.mend()
            elif verb == "wait":
                self.run(int(what))
            else:
                self.send(int(verb))

    @property
    def messages(self):
        return [message for message, _ in self.arrived]


@pytest.mark.parametrize(
    ("lag", "steps", "arrived"),
    [
        pytest.param("2ms", "1, wait 1, 2", [(1, 2), (2, 3)], id="lag delays each message"),
        pytest.param(
            "50ms", "1, lag 1ms, 2, lag 0, 3", [(1, 50), (2, 50), (3, 50)], id="a shorter lag reorders nothing"
        ),
        pytest.param("1ms", "1, lag 20ms, 2", [(1, 1), (2, 20)], id="a longer lag holds from then on"),
        pytest.param("2ms", "1, drop, 2, wait 9, mend, 3", [(3, 11)], id="a reset loses what is on its way or sent"),
        pytest.param("2ms", "1, hold, 2, wait 998, mend, 3", [(1, 1000), (2, 1000), (3, 1000)], id="a hold keeps all"),
        pytest.param("0", "hold, 1, drop, mend", [], id="what was held is lost by a reset"),
        pytest.param("0", "drop, 1, hold, 2, mend", [(2, 0)], id="a reset link becomes a black hole"),
        pytest.param("2ms", "1, mend", [(1, 2)], id="mending a whole link does nothing"),
    ],
)
def test_what_arrives_over_a_link_and_when(lag, steps, arrived):
    way = Way(lag)
    way.do(steps)
    way.run()
    assert way.arrived == arrived
    assert way.link.in_flight == 0


@pytest.mark.parametrize(("steps", "left"), [("1, 2", 2), ("1, hold, 2, wait 1000", 2), ("1, drop, 2", 0)])
def test_what_is_on_its_way_or_held_is_in_flight(steps, left):
    way = Way("2ms")
    way.do(steps)
    assert (way.arrived, way.link.in_flight) == ([], left)


def test_a_clear_link_delivers_within_the_call_and_sets_no_timer():
    way = Way()
    way.send(1, 2)
    assert way.arrived == [(1, 0), (2, 0)]
    assert way.runtime.timers == 0
    assert way.link.in_flight == 0


@pytest.mark.parametrize(
    "obstruct",
    [
        lambda link: link.set_lag(ConstantLag(1)),
        lambda link: link.set_loss(0.1),
        lambda link: link.set_duplication(0.1),
        lambda link: link.cut(Cut.HOLD),
        lambda link: link.cut(Cut.DROP),
    ],
)
def test_who_watches_is_told_when_a_link_ceases_to_be_clear_and_when_it_is_again(obstruct):
    way = Way()
    told = []
    way.link.on_clear(lambda: told.append(way.link.clear))
    way.link.on_break(lambda: told.append("break"))
    obstruct(way.link)
    assert told[0] is False
    way.link.set_lag(ConstantLag(0))
    way.link.set_loss(0)
    way.link.set_duplication(0)
    way.link.mend()
    assert told[1:] in ([True], ["break", True])


def test_a_link_is_clear_only_once_the_last_message_on_it_has_arrived():
    way = Way("constant:2ms")
    told = []
    way.link.on_clear(lambda: told.append((way.link.clear, way.runtime.now_ns(), way.messages)))
    way.send(1)
    way.link.set_lag(ConstantLag(0))
    way.send(2)
    assert (told, way.link.clear) == ([], False)
    way.run()
    assert told == [(True, 2 * MS, [1, 2])]


def test_a_link_with_held_messages_is_clear_only_once_these_have_arrived():
    way = Way()
    way.link.cut(Cut.HOLD)
    way.send(1)
    told = []
    way.link.on_clear(lambda: told.append((way.link.clear, way.messages)))
    way.link.mend()
    way.send(2)
    assert way.arrived == []
    way.run()
    assert told == [(True, [1, 2])]


def test_a_message_never_overtakes_an_earlier_one_whatever_it_draws():
    way = Way("exponential:5ms")
    way.send(*range(500))
    way.run()
    assert way.messages == list(range(500))
    times = [time_ms for _, time_ms in way.arrived]
    assert times == sorted(times)


@pytest.mark.parametrize("lag", ["0", "constant:2ms"])
def test_a_message_that_is_sent_while_another_arrives_comes_after_all_that_were_sent_before(lag):
    way = Way("constant:2ms")
    way.link.send(lambda: (way.arrived.append((1, None)), way.send(3)))
    way.send(2)
    way.link.set_lag(parse_lag(lag))
    way.run()
    assert way.messages == [1, 2, 3]


def delays_ns(way, count, period_ns):
    """What each of ``count`` messages took that were sent one after another."""
    sent_ns = []
    for number in range(count):
        sent_ns.append(way.runtime.now_ns())
        way.send(number)
        way.runtime.run(for_ns=period_ns)
    way.run()
    return [arrived_ms * MS - begun_ns for (_, arrived_ms), begun_ns in zip(way.arrived, sent_ns, strict=True)]


def test_a_drawn_delay_holds_for_the_coherence_time_and_is_then_drawn_anew():
    way = Way("uniform:1ms:5ms", coherence_ms=25)
    delays = delays_ns(way, 20, 5 * MS)
    windows = [delays[begin : begin + 5] for begin in range(0, 20, 5)]
    assert [len(set(window)) for window in windows] == [1, 1, 1, 1]
    assert len({window[0] for window in windows}) == 4


def test_without_coherence_every_message_draws_its_own_delay():
    assert len(set(delays_ns(Way("uniform:1ms:5ms"), 20, 5 * MS))) == 20


def test_a_new_lag_is_drawn_from_at_once_though_the_old_delay_would_hold():
    way = Way("constant:2ms", coherence_ms=25)
    way.send(1)
    way.link.set_lag(ConstantLag(7))
    way.send(2)
    way.run()
    assert way.arrived == [(1, 2), (2, 7)]


def test_a_delay_that_holds_keeps_a_busy_link_near_the_distribution_that_was_asked_for():
    """A message every 0.1 ms: with own draws nearly all wait for the slowest of their neighbours."""
    asked_ms = 5.0
    held = delays_ns(Way("exponential:5ms", coherence_ms=100), 20_000, MS // 10)
    own = delays_ns(Way("exponential:5ms"), 20_000, MS // 10)
    assert sum(held) / len(held) / MS < 1.5 * asked_ms
    assert sum(own) / len(own) / MS > 3 * asked_ms


def test_a_coherence_time_below_zero_is_refused():
    with pytest.raises(ValueError, match="at least 0 ns, got -1000000"):
        Way(coherence_ms=-1)


def test_what_a_mended_link_held_is_not_overtaken_by_what_its_arrival_sets_off():
    way = Way()
    way.link.cut(Cut.HOLD)
    way.link.send(lambda: (way.arrived.append((1, None)), way.send(4)))
    way.send(2, 3)
    way.link.mend()
    way.run()
    assert way.messages == [1, 2, 3, 4]


def test_a_cut_from_within_an_arrival_stops_the_rest():
    way = Way("constant:2ms")
    way.link.send(lambda: way.link.cut(Cut.HOLD))
    way.send(2)
    way.run()
    assert (way.arrived, way.link.in_flight) == ([], 1)
    way.link.mend()
    way.run()
    assert way.messages == [2]


@pytest.mark.parametrize(("mode", "breaks"), [(Cut.DROP, 1), (Cut.HOLD, 0)])
def test_only_a_reset_is_told_to_those_who_listen(mode, breaks):
    way = Way()
    told = []
    way.link.on_break(lambda: told.append("first"))
    way.link.on_break(lambda: told.append("second"))
    way.link.cut(mode)
    way.link.mend()
    assert told == ["first", "second"] * breaks


class Draws(Random):
    """Gives the numbers that it is told to."""

    def __init__(self, *numbers):
        super().__init__(1)
        self._numbers = list(numbers)

    def random(self):
        return self._numbers.pop(0)


def test_a_lost_message_is_sent_again_after_200_then_400_milliseconds():
    way = Way("constant:2ms", Draws(0.9, 0.1, 0.9, 0.1, 0.1, 0.9, 0.9))
    way.link.set_loss(0.5)
    for message in range(4):
        way.send(message)
        way.run(1_000)
    assert way.arrived == [(0, 2), (1, 1_202), (2, 2_602), (3, 3_002)]


def test_a_lost_message_delays_those_behind_it():
    way = Way("0", Draws(0.1, 0.9, 0.9))
    way.link.set_loss(0.5)
    way.send(1, 2)
    way.run()
    assert way.arrived == [(1, RETRANSMIT_NS / MS), (2, RETRANSMIT_NS / MS)]


def test_retransmission_has_an_end():
    way = Way("0", Draws(*[0.1] * RETRANSMITS_MAX))
    way.link.set_loss(0.5)
    way.send(1)
    way.run()
    assert way.arrived == [(1, RETRANSMIT_NS / MS * (2**RETRANSMITS_MAX - 1))]


def test_a_link_without_loss_again_is_clear_again():
    way = Way()
    way.link.set_loss(0.5)
    way.link.set_loss(0)
    way.send(1)
    assert (way.arrived, way.link.loss) == ([(1, 0)], 0)


@pytest.mark.parametrize("probability", [-0.1, 1, 1.5, float("nan")])
def test_a_loss_that_is_no_probability_is_refused(probability):
    with pytest.raises(ValueError, match=f"at least 0 and below 1, got {probability}"):
        Way().link.set_loss(probability)


def test_a_duplicated_message_arrives_again_later_and_what_it_overtook_does_not_wait():
    way = Way(lag="constant:1ms")
    way.link.set_duplication(1.0, after_ns=5 * MS)
    way.send("first")
    way.run(2)
    way.send("second")
    assert way.link.in_flight == 3  # the second, and both copies
    way.run()
    assert way.arrived == [
        ("first", 1),
        ("second", 3),
        ("first", 6),
        ("second", 8),
    ]
    assert way.link.in_flight == 0


def test_about_the_share_that_was_asked_for_is_duplicated_and_nothing_once_it_is_over():
    way = Way()
    way.link.set_duplication(0.3, after_ns=MS)
    way.send(*range(1000))
    way.run()
    assert 1250 < len(way.messages) < 1350
    way.link.set_duplication(0.0)
    way.send("after")
    assert way.messages[-1] == "after"
    way.run()
    assert way.messages.count("after") == 1


@pytest.mark.parametrize("mode", list(Cut))
def test_a_copy_that_sets_out_on_a_cut_link_fares_as_any_message(mode):
    way = Way()
    way.link.set_duplication(1.0, after_ns=MS)
    way.send("message")
    way.link.cut(mode)
    way.run(10)
    way.link.mend()
    way.run()
    assert way.messages == ([] if mode is Cut.DROP else ["message"] * 2)


@pytest.mark.parametrize(("share", "after_ns", "said"), [(1.5, 0, "1.5"), (-0.1, 0, "-0.1"), (0.5, -1, "0 ns")])
def test_a_duplication_that_cannot_be_is_refused(share, after_ns, said):
    with pytest.raises(ValueError, match=said):
        Way().link.set_duplication(share, after_ns=after_ns)
