"""Goal: no treatment of a link reorders or doubles messages. Method: random sends, lags, losses, cuts in virtual time.

A message is lost only if a cut that drops found it on the way or was in force when it was sent.
"""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from zonelab.cluster.links.lag import ConstantLag, exponential, uniform
from zonelab.cluster.links.link import Cut, Link
from zonelab.cluster.sim.runtime import SimRuntime

MS = 1_000_000

LAGS = st.one_of(
    st.just(ConstantLag()),
    st.builds(ConstantLag, st.floats(0, 20)),
    st.builds(exponential, st.floats(0.1, 50)),
    st.builds(uniform, st.just(0.0), st.floats(0, 50)),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 4)),
        st.tuples(st.just("lag"), LAGS),
        st.tuples(st.just("loss"), st.sampled_from([0.0, 0.3, 0.9])),
        st.tuples(st.just("cut"), st.sampled_from(list(Cut))),
        st.tuples(st.just("mend"), st.none()),
        st.tuples(st.just("wait"), st.integers(1, 300)),
    ),
    max_size=40,
)


@given(lag=LAGS, steps=STEPS, seed=st.integers(0, 2**32), coherence_ms=st.sampled_from([0, 0, 25, 200]))
def test_messages_arrive_once_in_order_and_only_resets_lose_them(lag, steps, seed, coherence_ms):
    runtime = SimRuntime(seed=seed)
    link = Link(source="a", target="b", runtime=runtime, lag=lag, random=Random(seed), coherence_ns=coherence_ms * MS)
    sent, arrived, lost = 0, [], set()
    for step, value in steps:
        if step == "send":
            for number in range(sent, sent + value):
                if link.cut_mode is Cut.DROP:
                    lost.add(number)
                link.send(lambda number=number: arrived.append(number))
            sent += value
        elif step == "lag":
            link.set_lag(value)
        elif step == "loss":
            link.set_loss(value)
        elif step == "cut":
            if value is Cut.DROP:
                lost |= set(range(sent)) - set(arrived)
            link.cut(value)
            told = len(arrived)
            runtime.run(for_ns=5 * MS)
            assert len(arrived) == told, "something arrived over a cut link"
        elif step == "mend":
            link.mend()
        else:
            runtime.run(for_ns=value * MS)
        assert link.in_flight == sent - len(arrived) - len(lost)
    link.mend()
    runtime.run(for_ns=1_000_000 * MS)
    assert arrived == [number for number in range(sent) if number not in lost]
