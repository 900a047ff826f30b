"""Goal: the linearizability checker is right. Method: small random histories against a search of every order, larger
ones against Gibbons and Korach's test and against histories that are linearizable by construction; all spoiled too.
"""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from support.analysis.linear import crowded_history, operation, some_order_is_legal, zones_conflict
from support.analysis.register_histories import register_history

from zonelab.analysis.checkers.consistency.linear import RegisterStep, check_register
from zonelab.analysis.checkers.consistency.linear_shrink import smallest_violation

VALUES = st.sampled_from([None, 1, 2, 3])


@st.composite
def histories(draw, kinds, *, doubt, most=7, different=False):
    """Any operations with any results: most are not linearizable."""
    count = draw(st.integers(1, most))
    moments = draw(st.permutations(range(2 * count)))
    made = []
    for number in range(count):
        begin, end = sorted(moments[2 * number : 2 * number + 2])
        kind = draw(st.sampled_from(kinds))
        value = number + 1 if different and kind in (RegisterStep.WRITE, RegisterStep.CAS) else draw(VALUES)
        unanswered = doubt and draw(st.booleans())
        made.append(operation(number, kind, value, begin, None if unanswered else end, draw(VALUES)))
    return made


@settings(max_examples=250, deadline=None)
@given(histories(list(RegisterStep), doubt=True))
def test_any_history_is_judged_as_by_trying_every_order(history):
    assert check_register(history).valid is some_order_is_legal(history)


@settings(max_examples=250, deadline=None)
@given(histories([RegisterStep.READ, RegisterStep.WRITE, RegisterStep.CAS], doubt=True, different=True))
def test_a_history_in_which_no_value_is_written_twice_is_judged_as_by_trying_every_order(history):
    assert check_register(history).valid is some_order_is_legal(history)


@settings(max_examples=200, deadline=None)
@given(histories([RegisterStep.READ, RegisterStep.WRITE], doubt=False, different=True, most=12))
def test_reads_and_writes_of_different_values_are_judged_as_by_gibbons_and_korach(history):
    assert check_register(history).valid is not zones_conflict(history)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 12), st.floats(0, 0.3), st.floats(0, 0.3))
def test_what_a_register_answered_is_linearizable(seed, clients, cas_share, doubt_share):
    history = register_history(Random(seed), 300, clients, cas_share=cas_share, doubt_share=doubt_share)
    assert check_register(history).valid is True


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 5))
def test_what_a_register_answered_is_linearizable_where_values_repeat_and_many_updates_are_in_doubt(seed, clients):
    """As in the histories of etcd that Jepsen recorded: five values, refused swaps, many updates timed out.

    One of 60 of these with 100 operations takes 54 s: the search is exponential in the updates that are in doubt.
    """
    assert check_register(crowded_history(Random(seed), 60, clients)).valid is True


def test_a_history_that_stops_among_updates_holds_those_that_were_read():
    """Five of 3,000 drawn histories had left out an update under way whose value the last operations read."""
    for seed, clients in ((41, 3), (370, 3), (315, 4), (348, 4), (490, 5)):
        assert check_register(crowded_history(Random(seed), 100, clients)).valid is True


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 8))
def test_a_larger_history_with_one_answer_changed_is_judged_as_by_gibbons_and_korach(seed, clients):
    random = Random(seed)
    history = register_history(random, 200, clients)
    reads = [place for place, one in enumerate(history) if one.kind is RegisterStep.READ]
    place, donor = random.choice(reads), random.choice(history)
    one = history[place]
    history[place] = operation(one.id, one.kind, donor.value, one.begin, one.end)
    assert check_register(history).valid is not zones_conflict(history)


@settings(max_examples=150, deadline=None)
@given(histories([RegisterStep.READ, RegisterStep.WRITE, RegisterStep.CAS], doubt=True, different=True))
def test_a_smallest_violation_is_a_violation_and_nothing_can_be_left_out(history):
    if check_register(history).valid:
        return
    small = smallest_violation(history)
    assert not some_order_is_legal(small)
    assert {one.id for one in small} <= {one.id for one in history}
    for left_out in small:
        rest = [one for one in small if one is not left_out]
        if left_out.kind is RegisterStep.READ:
            assert some_order_is_legal(rest)
    kinds = Counter(one.kind for one in small)
    assert kinds[RegisterStep.READ] + kinds[RegisterStep.CAS] >= 1


def test_the_drawn_histories_are_of_both_sorts():
    """Otherwise the properties above would hold of a checker that always gives one answer."""
    random, verdicts = Random(5), Counter()
    for _ in range(300):
        history = register_history(random, 8, 4, cas_share=0.2, doubt_share=0.2)
        if random.random() < 0.7:
            place = random.randrange(len(history))
            one = history[place]
            history[place] = operation(one.id, one.kind, f"v{random.randrange(8)}", one.begin, one.end, one.expected)
        verdicts[check_register(history).valid] += 1
        assert check_register(history).valid is some_order_is_legal(history)
    assert min(verdicts[True], verdicts[False]) > 50
