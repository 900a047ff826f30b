"""Goal: on a terminal of 80 columns and more no word and no number of any table is broken or cut, and no row is lost.

Method: tables of one column to twelve with long words, numbers and sentences, all widths; and by the fixture
``whole_words_at_80`` of all unit tests, every table that the product declares and any of them prints.
"""

import pytest
from rich.text import Text
from support.studies.whole_words import broken_words, lines_of_terminal

from zonelab.studies.reporting.report_table import Column, ReportTable

CELLS = (
    "level=DC_SAFE_QUORUM, topology.zones=[a, b, c]",
    "123,456,789 (98.765% to 99.9999%)",
    "a sentence of many words that takes much more than one line of a narrow column",
    "abandoned 1,234 (17)\nresurrected 5 (2)",
    Text("runs/zone-crash/20261128T203238-DC_QUORUM-2/report.html"),
    "1.2e-3 (below 4.56e-3)",
    "consumer_crash 10.5–11.25 s",
)


def table(columns: int, **more) -> ReportTable:
    def column(place: int) -> Column[int]:
        return Column(
            f"heading {place} of everything",
            lambda row: CELLS[(place + row) % len(CELLS)],
            number=place % 2 > 0,
        )

    return ReportTable(columns=[*map(column, range(columns))], rows=list(range(7)), title="of all kinds", **more)


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 8, 12])
def test_no_word_is_broken(columns: int) -> None:
    for width in (80, 81, 97, 120, 200):
        for names in range(1, min(columns, 2) + 1):
            assert broken_words(table(columns, names=names), width=width) == [], (width, names)


def test_columns_without_room_follow_below_beside_those_that_name_the_row() -> None:
    rows = [("a", "x" * 40, "y" * 40), ("b", "", "z" * 40)]
    columns = [Column(name, lambda row, place=place: row[place]) for place, name in enumerate(("name", "one", "two"))]
    assert [line.rstrip() for line in lines_of_terminal(ReportTable(columns=columns, rows=rows), width=80)] == [
        "name ┃ one",
        "━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━",
        f"a    │ {'x' * 40}",
        "",
        "name ┃ two",
        "━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━",
        f"a    │ {'y' * 40}",
        f"b    │ {'z' * 40}",
    ]


def test_a_long_path_is_broken_after_its_signs_and_keeps_its_style() -> None:
    path = Text("runs/zone-crash/20261128T203238-DC_QUORUM-2/report.html", style="red")
    shown = ReportTable(columns=[Column("run", lambda row: row), Column("why", lambda row: "x" * 30)], rows=[path])
    lines = lines_of_terminal(shown, width=60)
    assert [line.partition("│")[0].strip() for line in lines[2:]] == [
        "runs/zone-",
        "crash/20261128T203238-DC_",
        "QUORUM-2/report.html",
    ]


def test_a_word_that_is_wider_than_the_terminal_is_not_cut() -> None:
    shown = ReportTable(columns=[Column("name", str), Column("it", lambda row: "y" * 90)], rows=["a"], title="t" * 90)
    assert broken_words(shown, width=80) == []
    assert lines_of_terminal(shown, width=80)[0] == "t" * 90


def test_a_broken_word_is_noticed() -> None:
    class Cut(ReportTable):
        def __rich_console__(self, console, options):
            yield from ("heading", "0 of every", "thing", "123,456", ",789")

    assert broken_words(Cut(columns=[Column("heading", str)], rows=["everything", "123,456,789"]), width=80) != []
