"""Goal: one table of declared columns is shown in every form. Method: the same small table, each form whole."""

import csv
import io

import pytest

from zonelab.analysis.number_text import counted, digits, estimate, percent, share_interval, slashed, span
from zonelab.analysis.proportions import Interval
from zonelab.studies.reporting.footer import command_line, footer, without_verdict
from zonelab.studies.reporting.report_table import Column, ReportTable

TABLE = ReportTable(
    columns=[
        Column("setting", lambda row: row["name"], name="setting"),
        Column("runs", lambda row: row["runs"], name="runs", number=True),
        Column("p50, ms", lambda row: row["ms"], number=True),
        Column(None, lambda row: row["ms"], name="p50_ms"),
        Column("classes", lambda row: row["classes"], name="classes"),
    ],
    rows=[
        {"name": "level=<A>|B", "runs": 91_728, "ms": 1.2345, "classes": ["lost", "stuck"]},
        {"name": "two\nlines", "runs": 0, "ms": None, "classes": []},
    ],
    title="both",
    section=lambda row: row["runs"] > 0,
)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_terminal_shows_it(width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    TABLE.print("a sentence " + "x" * 200)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "both",
        "setting     ┃   runs ┃ p50, ms ┃ classes",
        "━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━━━",
        "level=<A>|B │ 91,728 │    1.23 │ lost, stuck",
        "────────────┼────────┼─────────┼────────────",
        "two         │      0 │       – │ none",
        "lines       │        │         │",
        "",
        "a sentence " + "x" * 200,
    ]


def test_files_have_it() -> None:
    assert TABLE.to_markdown().splitlines() == [
        "| setting | runs | p50, ms | classes |",
        "|---|---:|---:|---|",
        r"| level=<A>\|B | 91,728 | 1.23 | lost, stuck |",
        "| two<br>lines | 0 | – | none |",
    ]
    assert '<tr><td>level=&lt;A&gt;|B</td><td class="n">91,728</td>' in TABLE.to_html()
    assert "<td>two<br>lines</td>" in TABLE.to_html()
    assert list(csv.reader(io.StringIO(TABLE.to_csv())))[1:] == [
        ["level=<A>|B", "91,728", "1.23", "lost, stuck"],
        ["two\nlines", "0", "–", "none"],
    ]
    assert TABLE.to_json()[0] == {
        "setting": "level=<A>|B",
        "runs": 91_728,
        "p50_ms": 1.2345,
        "classes": ["lost", "stuck"],
    }


def test_numbers_have_one_form() -> None:
    assert [counted(1, "run"), counted(2, "search", "searches"), counted(91_728, "run")] == [
        *("1 run", "2 searches", "91,728 runs")
    ]
    assert [digits(None), digits(0.0, signed=True), digits(5.0, signed=True), digits(-1234.5)] == [
        *("–", "0", "+5", "-1,234")
    ]
    assert [digits(0.0012), digits(-0.00999, signed=True), digits(4.7e-9), digits(0.01), digits(0.123456)] == [
        *("1.2e-3", "-9.99e-3", "4.7e-9", "0.01", "0.123")
    ]
    assert [digits(value, significant=4) for value in (999.96, 12345.6, 1.23456)] == ["1,000", "12,346", "1.235"]
    assert [percent(share, signed=True) for share in (0.0, 0.1, -33.2)] == ["0.0%", "+10.0%", "-3,320.0%"]
    assert slashed({"p50": 7.5, "max": 1_000}, "p50", "p99", "max") == "7.5 / – / 1,000"
    assert [percent(share) for share in (0, 1, 0.0313, 0.01, 0.00301, 0.0000312)] == [
        *("0.0%", "100.0%", "3.1%", "1.0%", "0.30%", "0.0031%")
    ]
    assert [percent(share) for share in (0.99, 0.9996, 0.999968)] == ["99.0%", "99.960%", "99.9968%"]
    assert [share_interval(0, 0), share_interval(1, 40), span(None), span(Interval(0.5, 120.4))] == [
        *("–", "0.063% to 13.2%", "–", "0.5 to 120")
    ]
    assert share_interval(0, 40) == "below 8.8%", "where nothing was seen there is no lower end"
    around = Interval(0.0, 0.0012)
    assert [estimate(0.0, around), estimate(0.001, around), estimate(0.5, None), estimate(None, around)] == [
        *("0 (below 1.2e-3)", "1e-3 (0 to 1.2e-3)", "0.5", "–")
    ]
    assert estimate(0.25, Interval(0.1, 0.5), percent, "\n{}") == "25.0%\n10.0% to 50.0%"


def test_the_last_lines_say_what_was_reused_and_what_continues(tmp_path) -> None:
    assert list(footer("zonelab x")) == ["Repeat or continue with: zonelab x"]
    assert list(footer("zonelab x", complete=False, reused=1, unit=("search", "searches"))) == [
        "1 search was reused from an earlier invocation.",
        "Interrupted. Run the same command to continue.",
        "Repeat or continue with: zonelab x",
    ]
    problems = [f"seed {seed}" for seed in range(7)]
    assert list(without_verdict(problems, file=tmp_path))[4:] == [
        "no verdict: seed 4",
        f"and 2 more without a verdict, in {tmp_path}",
    ]
    assert (
        command_line(["zonelab", "a b"], overrides=["x=1"], runs=tmp_path)
        == f"zonelab 'a b' --set x=1 --dir {tmp_path}"
    )
