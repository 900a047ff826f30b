"""Goal: every anomaly of registers, sets, locks, counters and lists is found, and nothing else is. Method: histories
told by hand with one violation planted in each, and the same histories without it.
"""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from support.analysis.accesses import Story

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.report import build_report
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.summary.run_summary import checked, summarise
from zonelab.analysis.workloads import WorkloadKind

REGISTER, SET, LOCK, COUNTER, LIST = WorkloadKind


def register(**options):
    return Story(REGISTER, **options).at_rest(a="y", b="y", c="y")


def good():
    """x, then y, both seen, at rest everywhere."""
    return register().write("x", 0).read("x", 10, zone="b").write("y", 20).read("y", 30, zone="b").read("y", 40)


def test_a_good_history_has_no_anomaly_and_is_valid():
    verdict = good().verdict()
    assert verdict.valid is True
    assert not any(verdict.counts.values())
    assert verdict.operations == {"read": {"ok": 3, "fail": 0, "info": 0}, "write": {"ok": 2, "fail": 0, "info": 0}}


def test_a_stale_read_is_measured_in_time_and_in_versions():
    verdict = good().write("z", 50).write("w", 60, took=2).read("x", 100, zone="c").verdict()
    assert verdict.counts["stale_read"] == 1
    assert verdict.staleness["c"]["ms"]["p50"] == 100 - 21  # since y was confirmed
    assert verdict.staleness["c"]["versions"]["max"] == 3
    assert "a" not in verdict.staleness
    share = verdict.shares["stale_read"]["c"]
    assert (share.hits, share.trials) == (1, 1)
    assert verdict.shares["stale_read"]["all"].trials == 4
    assert verdict.counterexamples[0].key == "k"


def test_a_read_that_overlaps_the_newer_write_or_misses_one_in_doubt_is_not_stale():
    story = good().write("z", 50, took=10).read("y", 55).write("v", 70, type="info").read("z", 90).at_rest(a="z")
    assert story.verdict().counts["stale_read"] == 0


def test_a_write_that_overlaps_the_value_it_replaces_makes_nothing_stale():
    story = register().write("x", 0, took=10).write("y", 5, took=10, zone="b").read("x", 20).read("x", 30)
    assert story.verdict().counts["stale_read"] == 0


def test_a_value_that_nobody_wrote_is_unwritten_and_so_is_one_read_before_it_was_written():
    assert good().read("q", 50).counts()["unwritten"] == 1
    assert register().read("y", 0).write("y", 10).counts()["unwritten"] == 1
    assert register().read("y", 0, took=20).write("y", 10).counts() == {}


def test_a_session_that_misses_its_own_write():
    verdict = good().write("z", 50, zone="c").read("y", 60, zone="c").at_rest(a="z", b="z", c="z").verdict()
    assert verdict.counts["read_your_writes"] == 1
    assert verdict.cases["read_your_writes"][0].detail == "client-c-0"
    assert (verdict.shares["read_your_writes"]["c"].hits, verdict.shares["read_your_writes"]["c"].trials) == (1, 1)


def test_another_clients_write_is_not_ones_own():
    assert "read_your_writes" not in good().write("z", 50, zone="c").read("y", 60, zone="c", client=1).counts()


def test_a_session_whose_reads_go_back():
    counts = good().read("y", 50, zone="c").read("x", 60, zone="c").counts()
    assert counts["monotonic_reads"] == 1
    assert "monotonic_reads" not in good().read("y", 50, zone="c").read("x", 60, zone="c", client=1).counts()


def test_a_session_that_sees_two_concurrent_writes_in_both_orders():
    story = register().write("x", 0, took=9).write("y", 1, took=9, zone="b")
    for place, value in enumerate("xyx"):
        story.read(value, 20 + 5 * place, zone="c")
    assert story.counts()["monotonic_reads"] == 1
    assert story.counts()["nonlinearizable"] == 1


def test_one_clients_writes_seen_in_the_other_order():
    story = register().write("x", 0).write("y", 10).read("y", 20, zone="b").read("x", 30, zone="c")
    assert story.counts()["monotonic_writes"] == 1
    fine = register().write("x", 0).write("y", 10).read("x", 5, zone="b").read("y", 30, zone="c")
    assert "monotonic_writes" not in fine.counts()


def test_two_swaps_of_one_value_are_found():
    story = register().write("x", 0)
    story.add("cas", 10, expected="x", argument="y", applied=True, result="x")
    story.add("cas", 11, took=3, expected="x", argument="z", applied=True, result="x", zone="b")
    assert story.counts()["cas_twice"] == 1
    assert story.counts()["nonlinearizable"] == 1


def test_two_creations_of_one_key_are_found_and_a_refused_one_is_legal():
    twice = register().add("create", 0, argument="x", applied=True).add("create", 5, argument="y", applied=True)
    assert twice.counts() == {"cas_twice": 1, "nonlinearizable": 1}
    once = register().add("create", 0, argument="y", applied=True).add("create", 5, argument="z", applied=False)
    assert once.counts() == {}


def test_a_refused_swap_is_a_read_of_what_it_found():
    story = good().add("cas", 50, expected="x", argument="z", applied=False, result="x")
    assert story.counts()["nonlinearizable"] == 1
    assert good().add("cas", 50, expected="x", argument="z", applied=False, result="y").counts() == {}


def test_a_swap_in_doubt_that_was_seen_happened_once():
    story = good().add("cas", 50, expected="y", argument="z", type="info", error="ERR Peer").read("z", 60)
    assert story.counts() == {"applied_in_doubt": 1}
    assert story.read("y", 70).counts()["nonlinearizable"] == 1


def test_a_confirmed_last_write_that_no_zone_holds_is_lost():
    assert Story(REGISTER).write("x", 0).write("y", 10).at_rest(a="x", b="x", c="x").counts() == {"lost_write": 1}
    assert Story(REGISTER).write("x", 0).write("y", 10, type="info").at_rest(a="x", b="x", c="x").counts() == {}
    assert Story(REGISTER).write("x", 0, took=20).write("y", 10).at_rest(a="x", b="x", c="x").counts() == {}


def test_zones_that_differ_at_rest_are_divergent_but_an_unread_zone_is_only_a_doubt():
    counts = Story(REGISTER).write("x", 0).at_rest(a="x", b="x").counts()
    assert counts == {"divergent": 1}
    unread = Story(REGISTER, unread=("c",)).write("x", 0).at_rest(a="x", b="x").verdict()
    assert unread.valid == "unknown"
    assert unread.reasons == ("the end state of zone c could not be read",)


def test_an_update_in_doubt_that_is_there_is_counted_and_a_failed_one_forbidden():
    assert register().write("y", 0, type="info", error="ERR Peer").counts() == {"applied_in_doubt": 1}
    verdict = register().write("y", 0, type="fail", error="no").verdict()
    assert verdict.counts["applied_after_fail"] == 1
    assert verdict.valid is False


def test_a_crashed_clients_open_write_may_take_effect_later():
    assert register().write("x", 0).write("y", 5, type=None).read("x", 10).read("y", 20).counts() == {
        "applied_in_doubt": 1
    }


def test_keys_are_judged_apart():
    story = good().write("x2", 0, key="other").read(None, 10, key="other").at_rest("other", a="x2", b="x2", c="x2")
    verdict = story.verdict()
    assert verdict.counts["nonlinearizable"] == 1
    assert [one.key for one in verdict.counterexamples] == ["other"]


def test_a_key_beyond_the_budget_makes_the_run_unknown():
    story = register(budget=3)
    for number in range(8):
        story.write(f"w{number}", number, took=100 + number, zone="abc"[number % 3], client=number)
        story.read(f"w{number}", 20 + number, took=200)
    story.write("y", 900)
    verdict = story.verdict()
    assert verdict.counts["undecided"] == 1
    assert verdict.valid == "unknown"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"status": "interrupted"}, "the run was interrupted"),
        ({"drained": False}, "some operations had not ended"),
    ],
)
def test_a_run_that_was_cut_short_is_unknown(options, reason):
    verdict = register(**options).write("y", 0).verdict()
    assert verdict.valid == "unknown"
    assert verdict.reasons[0].startswith(reason)


def test_a_run_that_left_no_end_state_is_unknown_and_loses_nothing(tmp_path):
    run = Story(SET, status="interrupted").add("add", 0, argument="x").directory(tmp_path / "told" / "1")
    verdict = check(run)
    assert verdict.reasons == ("the run was interrupted", "no end state was recorded")
    assert not any(verdict.counts.values())


def test_of_many_keys_that_break_a_few_get_a_smallest_counterexample():
    story = Story(REGISTER).at_rest()
    for key in "abcdef":
        story.write("x", 0, key=key).read(None, 10, key=key)
    verdict = story.verdict()
    assert (verdict.counts["nonlinearizable"], len(verdict.counterexamples)) == (6, 5)


def test_a_run_in_which_nothing_was_done_is_unknown():
    assert register().read("x", 0, type="fail").verdict().reasons == ("nothing was done",)


def members(*names):
    return {"members": list(names)}


def test_sets_confirmed_additions_must_be_shown_and_kept():
    story = Story(SET).at_rest(a="x y", b="x y", c="x y").add("add", 0, argument="x").add("add", 10, argument="y")
    assert story.add("members", 20, **members("x", "y")).counts() == {}
    verdict = story.add("members", 30, zone="b", **members()).verdict()
    assert {name: count for name, count in verdict.counts.items() if count} == {"stale_read": 1, "vanished": 1}
    for name in ("stale_read", "vanished"):  # of reads, whatever number of members one misses
        assert (verdict.shares[name]["b"].hits, verdict.shares[name]["all"].trials) == (1, 2)
        assert verdict.cases[name][0].detail == "missed x and 1 more"
    assert story.add("members", 40, **members("x", "y", "q")).counts()["unwritten"] == 1


def test_sets_an_addition_that_overlaps_the_read_may_be_missing_and_one_in_doubt_too():
    story = Story(SET).at_rest(a="x", b="x", c="x").add("add", 0, took=20, argument="x")
    story.add("members", 5, **members()).add("add", 30, argument="y", type="info").add("members", 50, **members("x"))
    assert story.counts() == {}


def test_sets_lost_and_divergent_members():
    lost = Story(SET).add("add", 0, argument="x").add("add", 5, argument="y").at_rest(a="y", b="y", c="y")
    assert lost.counts() == {"lost_add": 1}
    assert lost.verdict().valid is False
    split = Story(SET).add("add", 0, argument="x").add("add", 5, argument="y").at_rest(a="x y", b="y", c="y")
    assert split.counts() == {"divergent": 1}


def test_sets_of_many_members_are_told_by_what_a_zone_lacks():
    split = Story(SET).at_rest(a="m n o p q r s t u v", b="n o p q r s t u v", c="m n o p q r s t u")
    for member in "mnopqrstuv":
        split.add("add", 0, argument=member)
    assert split.verdict().cases["divergent"][0].detail == "b lacks 1 of 10: m; c lacks 1 of 10: v"


def test_sets_a_member_that_nobody_added_at_rest_and_one_whose_addition_failed():
    assert Story(SET).add("add", 0, argument="x").at_rest(a="x q", b="x q", c="x q").counts() == {"unwritten": 1}
    failed = (
        Story(SET).add("add", 0, argument="x", type="fail").add("members", 5, **members()).at_rest(a="x", b="x", c="x")
    )
    assert failed.counts() == {"applied_after_fail": 1}


def acquire(story, token, at, *, applied, **options):
    return story.add("acquire", at, argument=token, applied=applied, **options)


def test_a_lock_with_two_owners_and_one_with_none():
    story = Story(LOCK)
    acquire(story, "a0", 0, applied=True, key="fine")
    acquire(story, "b0", 0, applied=False, key="fine", zone="b")
    acquire(story, "a1", 10, applied=True, key="two")
    acquire(story, "b1", 10, applied=True, key="two", zone="b")
    acquire(story, "a2", 20, applied=False, key="none")
    acquire(story, "b2", 20, applied=False, key="none", zone="b")
    for key, held in (("fine", "a0"), ("two", "a1"), ("none", "b2")):
        story.at_rest(key, a=held, b=held, c=held)
    verdict = story.verdict()
    assert (verdict.counts["two_owners"], verdict.counts["no_owner"]) == (1, 1)
    assert verdict.cases["two_owners"][0].key == "two"
    assert verdict.cases["no_owner"][0].key == "none"
    assert verdict.figures == {"owners_0": 1, "owners_1": 1, "owners_2": 1, "contested": 3, "keys_at_rest": 3}
    assert verdict.valid is False


def test_numbers_given_out_twice():
    story = Story(COUNTER).at_rest(a="3", b="3", c="3")
    for place, number in enumerate("122"):
        story.add("next", 10 * place, result=number, zone="abc"[place])
    verdict = story.verdict()
    assert verdict.counts["duplicate_number"] == 1
    assert verdict.cases["duplicate_number"][0].detail == "2 in b, c"
    assert verdict.figures["numbers"] == 3
    assert verdict.figures["distinct"] == 2


def test_items_popped_twice_or_left_behind_or_from_nowhere():
    story = Story(LIST).add("push", 0, argument="x").add("push", 5, argument="y").add("pop", 10, result="x")
    assert story.at_rest(a="y", b="y", c="y").counts() == {}
    twice = Story(LIST).add("push", 0, argument="x").add("pop", 5, result="x").add("pop", 9, result="x", zone="b")
    assert twice.at_rest().counts() == {"popped_twice": 1}
    behind = Story(LIST).add("push", 0, argument="x").add("pop", 5, result="x").at_rest(a="x", b="x", c="x")
    assert behind.counts() == {"left_behind": 1}
    assert Story(LIST).add("pop", 5, result="q").at_rest().counts() == {"unwritten": 1}
    assert Story(LIST).add("push", 0, argument="x").add("pop", 5, result=None).at_rest(a="x").counts() == {
        "divergent": 1
    }


def test_what_is_forbidden_is_the_scenarios_choice():
    story = good().read("x", 50, zone="c")
    story.forbid = ("stale_read",)
    assert story.verdict().reasons == ("1 stale read: a read that missed a write confirmed before it began",)
    story.forbid = ()
    assert story.verdict().valid is True


def test_the_verdict_from_disk_is_that_from_memory_and_survives_its_file(tmp_path):
    story = good().write("z", 50, took=2).read("x", 100, zone="c").write("v", 110, type=None)
    run = story.directory(tmp_path / "runs" / "told" / "1")
    verdict = check(run)
    assert verdict == Verdict.of(story.verdict())
    assert Verdict.from_json(json.loads((run / "verdict.json").read_text())) == verdict
    assert checked(RunDirectory.open(run)) == verdict
    rows = pq.read_table(run / "anomalies.parquet").to_pylist()
    assert {row["anomaly"] for row in rows} == {name for name, count in verdict.counts.items() if count}
    assert all(verdict.counts[name] == sum(row["anomaly"] == name for row in rows) for name in Anomaly)
    summary = summarise(run)
    assert summary.operation("write").counts == {"invoke": 4, "ok": 3, "fail": 0, "info": 1}
    page = build_report(run).read_text()
    assert verdict.consistency.counterexamples[0].timeline[0].split()[0] in page
    assert "Smallest counterexamples" in page


@pytest.mark.parametrize("change", [{"workload": "stack"}, {"cases": None}])
def test_a_broken_verdict_is_named(tmp_path, change):
    run = good().directory(tmp_path / "told" / "1")
    check(run)
    written = json.loads((run / "verdict.json").read_text())
    written["sections"]["consistency"] |= change
    (run / "verdict.json").write_text(json.dumps(written))
    with pytest.raises(RunError, match=r"verdict\.json: not written by this version"):
        checked(RunDirectory.open(run))


def test_a_truncated_values_file_is_one_line_that_names_it(tmp_path):
    run = good().directory(tmp_path / "told" / "1")
    path = run / "history" / "values-000001.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RunError, match=r"values-000001\.parquet: truncated, corrupt or unreadable"):
        check(run)


def stale_in_a_session():
    story = good().write("z", 50, zone="c").read("y", 60, zone="c").read("z", 70, zone="c").read("x", 80, zone="c")
    return story.write("q", 90, type="info", error="ERR Peer").at_rest(a="q")


def swapped_twice():
    story = register().write("x", 0).write("y", 5, type="fail", error="no").read("w", 8)
    for at in (10, 20):
        story.add("cas", at, expected="x", argument=f"z{at}", applied=True, result="x")
    return story.write("last", 40)


def additions_lost():
    story = Story(SET).add("add", 0, argument="x").add("add", 2, argument="w").at_rest(a="y q", b="y q", c="y")
    story.add("members", 10, **members("x")).add("members", 20, zone="b", **members("y", "v"))
    return story.add("add", 30, argument="y", type="info")


def owners():
    story = acquire(acquire(Story(LOCK), "a1", 10, applied=True), "b1", 10, applied=True, zone="b")
    acquire(acquire(story, "a2", 20, applied=False, key="none"), "b2", 20, applied=False, key="none", zone="b")
    return story.at_rest(a="a1", b="b1", c="a1").at_rest("none", a="b2", b="b2", c="b2")


def numbers():
    story = Story(COUNTER).at_rest(a="3", b="3", c="4")
    for place, number in enumerate("12232"):
        story.add("next", 10 * place, result=number, zone="abc"[place % 3], type="ok" if place < 4 else "fail")
    return story


def items():
    story = Story(LIST).add("push", 0, argument="x").add("pop", 5, result="x").add("pop", 9, result="x", zone="b")
    return story.add("pop", 12, result=None).add("pop", 20, result="q").at_rest(a="x y", b="x", c="x")


@pytest.mark.parametrize("made", [good, stale_in_a_session, swapped_twice, additions_lost, owners, numbers, items])
def test_what_happens_to_another_key_at_the_same_time_counts_as_much_again(made):
    story = made()
    alone, ours = story.verdict(), {one.values["key"] for one in story.done}
    for one in list(story.done):
        story.done.append(replace(one, values={**one.values, "key": f"another {one.values['key']}"}))
    story.rest = [*story.rest, *((zone, f"another {key}", place, value) for zone, key, place, value in story.rest)]
    both = story.verdict()
    for one, two in ((alone.counts, both.counts), (alone.figures, both.figures), ({"": alone.begun}, {"": both.begun})):
        assert two == {name: 2 * count for name, count in one.items()}
    assert {
        name: {zone: (one.hits, one.trials) for zone, one in zones.items()} for name, zones in both.shares.items()
    } == {
        name: {zone: (2 * one.hits, 2 * one.trials) for zone, one in zones.items()}
        for name, zones in alone.shares.items()
    }
    assert [[of["max"] for of in told.values()] for told in both.staleness.values()] == [
        [of["max"] for of in told.values()] for told in alone.staleness.values()
    ]
    assert len(both.counterexamples) == 2 * len(alone.counterexamples)
    for name, cases in alone.cases.items():
        mine, others = ([one for one in both.cases[name] if (one.key in ours) is own] for own in (True, False))
        said = [(one.key, one.zone, one.detail, len(one.ops)) for one in cases]
        assert [(one.key, one.zone, one.detail, len(one.ops)) for one in mine] == said
        assert [(one.key.removeprefix("another "), one.zone, one.detail, len(one.ops)) for one in others] == said
        assert not {op for one in mine for op in one.ops} & {op for one in others for op in one.ops}
        assert all(one.ops or name in ("divergent", "unwritten", "lost_write") for one in cases)
