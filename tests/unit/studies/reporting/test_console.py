"""Goal: values of users are shown as they are: nothing that is printed is read as markup, as emoji or as Markdown.

Method: names in brackets and colons through tables, sentences, bars and pages; which modules make consoles.
"""

import ast
import re

import pytest
from rich.table import Table
from support.project_files import ROOT, project_files

from zonelab.studies.many_runs.page import code
from zonelab.studies.reporting.console import BAD, console, error_console, print_lines, print_table, styled
from zonelab.studies.reporting.report_table import Column, ReportTable
from zonelab.studies.sweep.settings import settings_of

NAMES = ["topology.zones=[a, b, c]", "[bold]x[/bold]", "[/]", "a :warning: b", "[link=file:///x]y[/link]"]


@pytest.mark.parametrize("name", NAMES)
def test_a_table_shows_names_as_they_are(name: str, capsys: pytest.CaptureFixture[str]):
    table = Table(title=name)
    table.add_column(name)
    table.add_row(name)
    table.add_row(styled(name, BAD))
    print_table(table)
    columns = [Column[str](name, lambda cell: cell), Column[str](name, lambda cell: styled(cell, BAD))]
    ReportTable(columns=columns, rows=[name]).print(name)
    console().print(name)
    error_console().print(name)
    shown = capsys.readouterr()
    assert shown.out.count(name) == 10
    assert shown.err.count(name) == 1


def test_the_name_of_a_setting_has_its_brackets(capsys: pytest.CaptureFixture[str]):
    settings = settings_of("steady", vary=["topology.zones=[a, b, c],[a]"])
    print_lines(*(one.name for one in settings))
    assert "topology.zones=[a, b, c]" in capsys.readouterr().out


def test_consoles_are_made_in_one_place_and_no_column_of_a_bar_reads_markup():
    made, marked = [], []
    for path in (ROOT / name for name in project_files() if re.match(r"(app|scenarios|studies)/.*\.py$", name)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            options = {option.arg for option in node.keywords} if isinstance(node, ast.Call) else set()
            made += [path.relative_to(ROOT).as_posix()] * (called == "Console")
            marked += [path.name] * (called == "TextColumn" and "markup" not in options)
    assert set(made) == {"studies/reporting/console.py"}
    assert marked == []


def test_a_backtick_ends_no_code():
    assert code("zonelab run x") == "`zonelab run x`"
    assert code("zonelab run '`id`'") == "`` zonelab run '`id`' ``"
