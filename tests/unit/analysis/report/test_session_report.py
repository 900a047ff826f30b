"""Goal: a manual session becomes a page that shows what was done and how zones did, also one that was killed.

Method: sessions that the recording itself writes, with made-up samples.
"""

import asyncio
import json
import re

import pytest
from support.analysis.figures import kept_figures
from support.analysis.told_figures import expected, told

from zonelab.analysis.figures.session_plot import plot_session
from zonelab.analysis.report import build_report
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import KILLED, RunError
from zonelab.analysis.runs.manual_session import by_zone, samples, verbs, zone_summaries
from zonelab.app.cli.main import run_cli
from zonelab.app.session.recording import SAMPLES_MAX, SessionRecording
from zonelab.app.session.settings import checked_settings
from zonelab.cluster.real.zones.key_comparison import KeyComparison

S = 1_000_000_000


def sample(second, zone, *, operations=None, errors=0.0, p99_ms=None, server="running"):
    known = operations is not None
    return {
        "time_ns": second * S,
        "zone": zone,
        "server": server,
        "coordinator": "running" if known else "paused",
        "operations_per_s": operations,
        "errors_per_s": errors if known else None,
        "divergent_per_s": 0.5 if known else None,
        "p50_ms": p99_ms,
        "p99_ms": p99_ms,
        "clients": 1,
        "in_flight": 0,
    }


@pytest.fixture
def recording(tmp_path):
    return SessionRecording(checked_settings(runs=tmp_path / "runs", zones=2), server="valkey 9.1.2")


def recorded(recording, rounds):
    async def run():
        for rows in rounds:
            await recording.sample(rows)

    asyncio.run(run())


def used(recording):
    """Four seconds in which b did not answer for two, under one fault that ended and one that did not."""
    recorded(
        recording,
        [
            [sample(1, "a", operations=100.0, errors=5.0, p99_ms=4.0), sample(1, "b", operations=10.0, p99_ms=1.0)],
            [sample(2, "a", operations=50.0, p99_ms=9.0), sample(2, "b", server="dead")],
            [sample(3, "a", operations=0.0), sample(3, "b")],
            [sample(4, "a", operations=10.0), sample(4, "b", operations=20.0)],
        ],
    )
    given = {"colour": "#d62728", "detail": json.dumps({"kind": "kill"})}
    ended = recording.fault_began(name="1:kill b", kind="kill", target="b", begin_ns=S, **given)
    recording.fault_ended(ended)
    recording.fault_began(name="2:cut <a>", kind="cut", target="a", begin_ns=2 * S, **given)
    recording.verb("fault", {"kind": "kill", "target": "z"}, error="zone 'z' is not there; accepted: a, b")


def test_totals_are_rates_times_intervals_and_silence_is_counted(recording):
    used(recording)
    recording.close(coordinators={}, error=None)
    a, b = zone_summaries(RunDirectory.open(recording.directory))
    assert (a.zone, a.operations, a.errors, a.divergent, a.worst_p99_ms, a.silent_s) == ("a", 160, 5, 2, 9.0, 0)
    assert (b.zone, b.operations, b.silent_s, b.server_down_s, b.worst_p99_ms) == ("b", 30, 2, 1, 1.0)


def test_the_figure_has_what_each_zone_did_a_gap_where_it_was_silent_and_the_faults(recording, monkeypatch):
    figures = kept_figures(monkeypatch)
    draw_session(recording)
    said = re.sub(r"zonelab \S+( \(\w+\))?", "zonelab VERSION", told(figures["session.png"]))
    assert said == expected("session")


def draw_session(recording):
    recorded(
        recording,
        [
            [sample(1, "b", operations=10.0, p99_ms=1.0), sample(1, "a", operations=100.0, errors=5.0, p99_ms=4.0)],
            [sample(2, "b", server="dead"), sample(2, "a", operations=50.0, p99_ms=9.0)],
            [sample(4, "b", operations=20.0), sample(4, "a", operations=0.0)],
        ],
    )
    given = {"colour": "#d62728", "detail": json.dumps({"kind": "kill"})}
    recording.fault_began(name="1:kill b", kind="kill", target="b", begin_ns=2 * S, **given)
    recording.close(coordinators={}, error=None)
    plot_session(recording.directory)


def test_the_page_says_which_servers_lacked_scripts_by_all_coordinators_together(recording):
    used(recording)
    lacking = {
        "a": {"unknown_scripts": {"b": {"times": 1_200, "since_utc": "2026-11-28T04:10:00Z"}}},
        "b": {"unknown_scripts": {"b": {"times": 34, "since_utc": "2026-11-28T04:09:00Z"}}},
        "c": {"port": {"commands": 3}},
    }
    recording.close(coordinators=lacking, error=None)
    page = build_report(recording.directory).read_text()
    assert "Zone b answered NOSCRIPT 1,234 times since 2026-11-28T04:09:00Z" in page


def test_the_page_has_where_votes_differed_of_all_coordinators_and_which_keys_differ(recording):
    used(recording)
    odd = {"command": "GET", "zone": "b", "reply": "nil"}
    deviating = {
        "a": {"deviations": [{**odd, "times": 3}, {**odd, "reply": "error <OOM>", "times": 5}]},
        "b": {"deviations": [{**odd, "times": 1_200}]},
        "c": {"port": {"commands": 3}},
    }
    found = KeyComparison(compared=4, differing={"<celery>": {"a": 0, "b": 255, "c": 255}})
    recording.keys_compared(KeyComparison(), after="heal")
    recording.keys_compared(found, after="down")
    recording.close(coordinators=deviating, error=None)
    page = build_report(recording.directory).read_text()
    rows = [line for line in page.splitlines() if "<td>b</td>" in line]
    assert "<th>GET</th><td>b</td><td>nil</td>" in rows[0]
    assert "1,203" in rows[0]
    assert "error &lt;OOM&gt;" in page
    assert "Keys, after down" in page
    assert "1 key differs: `&lt;celery&gt;` a 0, b 255, c 255 elements." in page


def test_a_check_of_a_session_is_one_sentence(recording, capsys):
    used(recording)
    recording.close(coordinators={}, error=None)
    assert run_cli(["check", str(recording.directory)]) == 2
    said = "a session of zonelab up, which records no messages: nothing can be judged"
    assert capsys.readouterr().out == f"{recording.directory}: {said}\n"


def test_the_page_shows_faults_verbs_and_figures_and_escapes_them(recording):
    used(recording)
    recording.close(coordinators={"a": {"port": {"commands": 160}}}, error=None)
    page = build_report(recording.directory).read_text()
    for words in ("1:kill b", "2:cut &lt;a&gt;", "not ended", "is not there; accepted: a, b", "no verdict", ">160<"):
        assert words in page
    assert "<a>" not in page
    assert page.count("data:image/png;base64,") == 1
    assert (recording.directory / "plots" / "session.png").stat().st_size > 10_000


def test_a_session_whose_supervisor_was_killed_is_reported_up_to_its_last_words(recording):
    used(recording)
    told = json.loads((recording.directory / "run.json").read_text())
    assert RunDirectory.open(recording.directory).info.status == "running"
    gone = {**told["owner"], "start_ticks": told["owner"]["start_ticks"] - 1}
    (recording.directory / "run.json").write_text(json.dumps({**told, "owner": gone}))
    run = RunDirectory.open(recording.directory)
    assert (run.info.status, run.info.error) == ("interrupted", KILLED)
    assert [band.fault for band in run.faults()] == ["1:kill b", "2:cut <a>"]
    assert len(samples(run)) >= 2
    assert "Interrupted" in build_report(recording.directory).read_text()


def test_a_session_in_which_nothing_happened_has_a_page_as_well(recording):
    recording.close(coordinators={}, error=None)
    run = RunDirectory.open(recording.directory)
    assert (by_zone(run), zone_summaries(run), verbs(run)) == ({}, [], [])
    assert "None." in build_report(recording.directory).read_text()


def test_a_table_that_is_missing_from_a_complete_session_is_named(recording):
    recording.close(coordinators={}, error=None)
    (recording.directory / "samples.parquet").unlink()
    with pytest.raises(RunError, match=r"samples\.parquet: missing"):
        build_report(recording.directory)


def test_a_long_session_keeps_every_other_round_whole(recording, monkeypatch):
    monkeypatch.setattr("zonelab.app.session.recording.SAMPLES_MAX", 10)
    assert SAMPLES_MAX > 10
    rounds = [[sample(second, zone, operations=1.0) for zone in "ab"] for second in range(1, 7)]
    recorded(recording, rounds)
    recording.close(coordinators={}, error=None)
    kept = by_zone(RunDirectory.open(recording.directory))
    assert recording.period == 2
    assert [time_ns // S for time_ns in kept["a"]["time_ns"]] == [2, 4, 6]
    assert list(kept["a"]["time_ns"]) == list(kept["b"]["time_ns"])


def test_a_run_directory_that_somebody_removed_does_not_end_the_session(recording):
    for path in sorted(recording.directory.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    recording.directory.rmdir()
    recording.verb("heal", {})
    recorded(recording, [[sample(1, "a", operations=1.0)]])
    recording.log("coordinator a", "a last word")
    recording.close(coordinators={}, error=None)
    assert not recording.directory.exists()
