"""Goal: staleness and session guarantees are what their definitions say. Method: random histories, stale or not, judged
again by brute force over all pairs and triples of operations.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from zonelab.analysis.checkers.consistency.findings import AccessFindings
from zonelab.analysis.checkers.consistency.sessions import check_sessions
from zonelab.analysis.checkers.consistency.staleness import check_staleness
from zonelab.analysis.runs.accesses import Access

NEVER = 10**9


@st.composite
def histories(draw):
    """Writes of different values and reads of any of them or of nil, by three clients that may overlap themselves."""
    count = draw(st.integers(1, 9))
    moments = draw(st.permutations(range(2 * count)))
    made = []
    for op in range(count):
        begin, end = sorted(moments[2 * op : 2 * op + 2])
        writes = draw(st.booleans())
        in_doubt = writes and draw(st.integers(0, 4)) == 0
        value = f"v{op}" if writes else draw(st.sampled_from([None, *(f"v{one}" for one in range(count))]))
        made.append(
            Access(
                op=op,
                process=f"client-{draw(st.integers(0, 2))}",
                zone="a",
                f="write" if writes else "read",
                type="info" if in_doubt else "ok",
                key="k",
                argument=value if writes else None,
                result=None if writes else value,
                begin=begin,
                end=None if in_doubt else end,
                begin_ns=begin * 1_000_000,
                end_ns=None if in_doubt else end * 1_000_000,
            )
        )
    return sorted(made, key=lambda one: one.begin)


def span(history, value):
    """Begin and end of the write of ``value``; nil was there before everything; None if nobody wrote it."""
    if value is None:
        return -1, -1
    found = [one for one in history if one.f == "write" and one.argument == value]
    return (found[0].begin, found[0].end if found[0].ok else NEVER) if found else None


def reads(history):
    return [one for one in history if one.f == "read" and span(history, one.result) is not None]


def newer(history, read):
    end = span(history, read.result)[1]
    return [one for one in history if one.f == "write" and one.ok and one.begin > end and one.end < read.begin]


def older(history, one, other):
    """The value that ``one`` read is certainly older than that of ``other``."""
    return span(history, one.result)[1] < span(history, other.result)[0]


@settings(max_examples=300, deadline=None)
@given(histories())
def test_staleness_is_counted_as_defined(history):
    findings = AccessFindings()
    check_staleness({"k": history}, findings)
    stale = {read.op: newer(history, read) for read in reads(history) if newer(history, read)}
    assert {case.ops[1] for case in findings.all.get("stale_read", [])} == set(stale)
    if stale:
        versions = [len(found) for found in stale.values()]
        assert findings.staleness["all"]["versions"]["max"] == max(versions)
        since = [
            next(one.begin for one in history if one.op == op) - min(one.end for one in found)
            for op, found in stale.items()
        ]
        assert findings.staleness["all"]["ms"]["max"] == max(since)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_session_guarantees_are_judged_as_defined(history):
    findings = AccessFindings()
    check_sessions({"k": history}, findings)
    known = reads(history)
    own = lambda one, other: one.process == other.process and one.ok and one.end < other.begin  # noqa: E731
    missed = {
        read.op
        for read in known
        for one in history
        if one.f == "write" and own(one, read) and span(history, read.result)[1] < one.begin
    }
    back = {read.op for read in known for one in known if own(one, read) and older(history, read, one)}
    returned = {
        read.op
        for read in known
        for one in known
        for between in [other for other in history if other.f == "read"]
        if own(one, between) and own(between, read) and one.result == read.result != between.result
    }
    swapped = {
        read.op
        for read in known
        for one in known
        for first in history
        for second in history
        if first.f == second.f == "write" and own(first, second) and second.ok and one.end < read.begin
        if first.argument == read.result and second.argument == one.result
    }
    found = {name: {case.ops[-1] for case in cases} for name, cases in findings.all.items()}
    assert found.get("read_your_writes", set()) == missed
    assert found.get("monotonic_reads", set()) == back | returned
    assert found.get("monotonic_writes", set()) == swapped
