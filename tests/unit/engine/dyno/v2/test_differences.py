"""Every defect and every window that docs/dyno-v2.md lists names tests that exist.

Method: the tables of the page against the syntax trees of the test modules next to this one; then rows that lack
something, which must be found.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = (HERE.parents[4] / "docs" / "dyno-v2.md").read_text(encoding="utf-8")
WINDOWS = ("test_crash_windows", "test_multi")


def rows(page, header):
    """The cells of each row of the table that begins with ``header``."""
    _, found, table = page.partition(header)
    assert found, header
    lines = table.split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@cache
def functions_of(module):
    path = (HERE.parent if "/" in module else HERE) / f"{module}.py"
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
    return {node.name: ast.unparse(node) for node in tree.body if isinstance(node, ast.FunctionDef)}


def faults(row):
    """What a row of the table of defects lacks."""
    if len(row) != 6 or not all(row):
        return ["a cell is empty"]
    named = re.findall(r"`([\w/]+)\.(test_\w+)`", row[5])
    if not 1 <= len(named) <= 2:
        return ["one or two tests must be named"]
    missing = [name for module, name in named if name not in functions_of(module)]
    if missing:
        return [f"there is no test {name}" for name in missing]
    source = functions_of(named[0][0])[named[0][1]]
    both = re.search(r"\b(original|compat)\b", source) and re.search(r"\b(default|bench)\b", source)
    if len(named) == 1 and not both:
        return [f"{named[0][1]} does not tell both sides"]
    if len(named) == 2 and not re.search(r"original|compat", source):
        return [f"{named[0][1]} is not about the original"]
    return []


DEFECTS = rows(PAGE, "| row | where it shows |")
DEATHS = rows(PAGE, "| operation | dies |")


def test_the_tables_are_found():
    assert len(DEFECTS) > 20
    assert len(DEATHS) > 6
    names = [row[0] for row in DEFECTS]
    assert len(dict.fromkeys(names)) == len(names)


@pytest.mark.parametrize("row", DEFECTS, ids=[row[0] for row in DEFECTS])
def test_a_defect_has_tests_of_both_sides(row):
    assert faults(row) == []


@pytest.mark.parametrize("row", DEATHS, ids=[f"{row[0]} {row[1]}".replace("`", "") for row in DEATHS])
def test_a_window_has_a_test(row):
    (name,) = re.findall(r"`(test_\w+)`", row[-1])
    assert any(name in functions_of(module) for module in WINDOWS)


@pytest.mark.parametrize(
    ("tests", "fault"),
    [
        ("", "a cell is empty"),
        ("none", "one or two tests must be named"),
        ("`test_defects.test_of_nothing`", "there is no test test_of_nothing"),
        (
            "`test_parts.test_ids_spread_over_all_buckets`",
            "test_ids_spread_over_all_buckets does not tell both sides",
        ),
        (
            "`test_parts.test_ids_spread_over_all_buckets`, `test_commands.test_get_is_a_quorum_read`",
            "test_ids_spread_over_all_buckets is not about the original",
        ),
    ],
)
def test_a_row_that_lacks_something_is_found(tests, fault):
    assert faults(["row", "where", "original", "default", "source", tests]) == [fault]
