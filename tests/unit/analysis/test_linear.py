"""Goal: every kind of violation of a register is found, made small and drawn. Method: violations planted by hand."""

import tracemalloc
from random import Random

import pytest
from support.analysis.linear import cas, differs, operation, read, write
from support.analysis.register_histories import register_history

from zonelab.analysis.checkers.consistency.linear import RegisterStep, SearchBudget, check_register
from zonelab.analysis.checkers.consistency.linear_shrink import smallest_violation
from zonelab.analysis.checkers.consistency.linear_timeline import timeline

STALE_READ = [write(0, "x", 0, 1), write(1, "y", 2, 3), read(2, "x", 4, 5)]
LOST_WRITE = [write(0, "x", 0, 1), read(1, None, 2, 3)]
NEVER_WRITTEN = [write(0, "x", 0, 1), read(1, "z", 2, 3)]
FROM_THE_FUTURE = [read(0, "x", 0, 1), write(1, "x", 2, 3)]
SWAPPED_TWICE = [write(0, "x", 0, 1), cas(1, "x", "y", 2, 4), cas(2, "x", "z", 3, 5)]
THERE_AND_BACK = [write(0, "x", 0, 1), write(1, "y", 2, None), read(2, "y", 3, 4), read(3, "x", 5, 6)]
TWO_ORDERS = [
    write(0, "x", 0, 9),
    write(1, "y", 1, 8),
    *(read(2 + number, value, 10 + 2 * number, 11 + 2 * number) for number, value in enumerate("xyx")),
]
REFUSED_WITHOUT_CAUSE = [write(0, "x", 0, 1), differs(1, "x", 2, 3)]


@pytest.mark.parametrize(
    "violation",
    [
        STALE_READ,
        LOST_WRITE,
        NEVER_WRITTEN,
        FROM_THE_FUTURE,
        SWAPPED_TWICE,
        THERE_AND_BACK,
        TWO_ORDERS,
    ],
)
def test_a_violation_is_found_in_the_middle_of_a_good_history_and_shrinks_to_itself(violation):
    assert check_register(violation).valid is False
    alone = smallest_violation(violation)
    history = [
        operation(one.id, one.kind, one.value, one.begin - 10_000, one.end and one.end - 10_000, one.expected)
        for one in register_history(Random(3), 200, 5, doubt_share=0.1)
    ]
    opening = write(9_000, None, -1, -1)  # the register holds nil when the planted part begins
    planted = [operation(1_000 + one.id, one.kind, one.value, one.begin, one.end, one.expected) for one in violation]
    whole = [*history, opening, *planted]
    assert check_register([*history, opening]).valid is True
    assert check_register(whole).valid is False
    small = smallest_violation(whole)
    assert {one.id - 1_000 for one in small if one.id < 9_000} == {one.id for one in alone}


def test_a_refusal_without_cause_is_found_and_an_update_in_doubt_excuses_it():
    assert check_register(REFUSED_WITHOUT_CAUSE).valid is False
    assert check_register([*REFUSED_WITHOUT_CAUSE, write(2, "y", 0, None)]).valid is True
    assert len(smallest_violation([*REFUSED_WITHOUT_CAUSE, read(2, "x", 4, 5)])) == 2


@pytest.mark.parametrize(
    "history",
    [
        [],
        [read(0, None, 0, 1)],
        [write(0, "x", 0, 3), read(1, "x", 1, 2)],
        [write(0, "x", 0, 3), read(1, None, 1, 2)],
        [write(0, "x", 0, None), read(1, None, 1, 2), read(2, "x", 3, 4)],
        [write(0, "x", 0, None), read(1, None, 1, 2)],
        [write(0, "x", 0, 1), cas(1, "x", "y", 2, None), read(2, "x", 3, 4), read(3, "y", 5, 6)],
        [write(0, "x", 0, 2), write(1, "y", 1, 3), read(2, "x", 4, 5), read(3, "x", 6, 7)],
        [differs(0, "x", 0, 1), write(1, "x", 2, 3)],
        [write(0, "x", 0, 1), write(1, "x", 2, 3), write(2, "y", 4, 6), read(3, "x", 5, 7)],
    ],
)
def test_what_a_register_may_answer_is_linearizable(history):
    assert check_register(history).valid is True


def test_an_update_in_doubt_may_take_effect_once_but_not_twice():
    again = [write(0, "x", 0, None), read(1, "x", 1, 2), write(2, "y", 3, 4), read(3, "y", 5, 6)]
    assert check_register(again).valid is True
    assert check_register([*again, read(4, "x", 7, 8)]).valid is False


def test_of_unlike_updates_in_doubt_with_one_value_either_may_be_the_one_that_was_seen():
    """What the read saw first must not have been the plain write, since only that can bring the value back."""
    written, swapped = write(0, "x", 0, None), cas(1, "a", "x", 1, None)
    history = [read(2, "x", 2, 3), write(3, "y", 4, 5), read(4, "x", 6, 7)]
    for doubtful in ([written, swapped], [cas(0, "a", "x", 0, None), write(1, "x", 1, None)]):
        assert check_register([*doubtful, *history], initial="a").valid is True
        assert (
            check_register([*doubtful, *history, write(5, "y", 8, 9), read(6, "x", 10, 11)], initial="a").valid is False
        )


def test_events_of_one_moment_exclude_no_order():
    assert check_register([write(0, "x", 0, 5), read(1, None, 5, 6)]).valid is True


def test_another_initial_value_can_be_given():
    assert check_register([read(0, 7, 0, 1)], initial=7).valid is True
    assert check_register([read(0, 7, 0, 1)]).valid is False


def hard_history(writers):
    """Equal values and refusals, so that no rule helps: every subset of the writes is a configuration."""
    writes = [write(number, number % 2, number, 1_000 + number) for number in range(writers)]
    return [*writes, differs(writers, 5, 900, 2_000)]


def test_a_search_beyond_its_budget_says_unknown_and_stays_small():
    tracemalloc.start()
    judged = check_register(hard_history(40), budget=SearchBudget(configurations=20_000, steps=10_000_000))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert judged.valid == "unknown"
    assert peak_bytes < 20_000 * 1_000
    assert check_register(hard_history(40), budget=SearchBudget(steps=1_000)).valid == "unknown"


def test_the_budget_is_spent_on_hard_histories_only():
    judged = check_register(register_history(Random(1), 5_000, 20, doubt_share=0.05))
    assert judged.valid is True
    assert judged.steps < 20 * 5_000


def test_many_writes_in_doubt_at_once_cost_nothing_if_nobody_reads_them():
    doubtful = [write(number, f"w{number}", number, None) for number in range(500)]
    seen = [write(1_000, "x", 600, 601), read(1_001, "x", 602, 603), read(1_002, "w7", 604, 605)]
    judged = check_register([*doubtful, *seen])
    assert judged.valid is True
    assert judged.steps < 100


def test_many_equal_writes_in_doubt_cost_little_although_any_of_them_may_have_been_seen():
    history = [write(number, number % 4, number, None) for number in range(60)]
    history += [read(100 + number, number % 4, 100 + 2 * number, 101 + 2 * number) for number in range(40)]
    history.append(differs(200, 7, 300, 301))
    judged = check_register(history)
    assert judged.valid is True
    assert judged.steps < 100_000
    assert check_register([*history, read(201, 5, 310, 311)]).valid is False


def test_many_writes_that_nobody_reads_and_that_end_together_cost_little():
    stalled = [write(number, f"w{number}", number, 10_000 + number) for number in range(200)]
    judged = check_register([*stalled, read(1_000, "w7", 20_000, 20_001)])
    assert judged.valid is True
    assert judged.steps < 200_000


def test_a_history_without_violation_cannot_be_shrunk():
    with pytest.raises(ValueError, match="no violation to shrink"):
        smallest_violation([write(0, "x", 0, 1)])


def test_a_violation_among_thousands_of_operations_shrinks_to_three():
    history = register_history(Random(11), 4_000, 8, cas_share=0.1, doubt_share=0.02)
    late = max(one.begin for one in history) + 10
    early = next(one for one in history if one.kind is RegisterStep.WRITE and one.end is not None)
    small = smallest_violation([*history, read(99_999, early.value, late, late + 1)])
    assert len(small) == 3
    assert small[-1].id == 99_999


def test_a_timeline_shows_order_overlap_and_doubt():
    lines = timeline(
        [write(0, "x", 0, 40), write(1, "y", 10, None), cas(2, "x", None, 50, 60), differs(3, "q", 50, 60)],
        names={0: "a-0", 1: "client b-1", 2: "c-0", 3: "c-1"},
        notes={1: "ERR Peer"},
    )
    assert lines == [
        "a-0         write x                  ├───────────┤",
        "client b-1  write y                        ├───────────────────────→  ERR Peer",
        "c-0         cas x to nil                               ├─────┤",
        "c-1         refused for not being q                    ├─────┤",
    ]
