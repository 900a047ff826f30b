"""Every defect of the original that docs/dyno-queues.md lists has a test of the original's side and one of ours.

Method: the table of the page against the syntax trees of the test modules next to this one. A test is of the original's
side if it, or a fixture that it takes, asks for ``compat``; one that stands for both sides must run in both modes.
Then rows that lack something, which must be found.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[4] / "docs" / "dyno-queues.md"
ORIGINAL = {"original", "compat_bench", "either", "compat"}
DEFAULT = {"bench", "either", "compat", "change"}
"""What a test takes, by the side that it is on."""


def rows(page):
    """The cells of each row: name, where, original, default, source, tests."""
    _, _, table = page.partition("| row | where it shows |")
    lines = [line for line in table.splitlines()[2:] if line]
    lines = lines[: next((at for at, line in enumerate(lines) if not line.startswith("|")), len(lines))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@cache
def functions(module):
    """Test name → its tree."""
    path = HERE / f"{module}.py"
    if not path.is_file():
        return {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def words(function):
    """Every name that a test takes, uses or passes by keyword, decorators included."""
    found = [argument.arg for argument in function.args.args]
    for node in ast.walk(function):
        found += [node.id] if isinstance(node, ast.Name) else []
        found += [node.arg] if isinstance(node, ast.keyword) and node.arg else []
        found += (
            re.findall(r"\w+", node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
        )
    return dict.fromkeys(found)


def faults(row):
    """What a row lacks."""
    if len(row) != 6 or not all(row):
        return ["a cell is empty"]
    tests = re.findall(r"`(\w+)\.(\w+)`", row[5])
    if not 1 <= len(tests) <= 2:
        return ["one or two tests must be named"]
    missing = [name for module, name in tests if name not in functions(module)]
    if missing:
        return [f"there is no test {name}" for name in missing]
    original, default = (words(functions(module)[name]) for module, name in (tests[0], tests[-1]))
    found = [] if ORIGINAL & original.keys() else [f"{tests[0][1]} is not about the original"]
    if len(tests) == 2 and not DEFAULT & default.keys():
        found.append(f"{tests[1][1]} is not about the default")
    if len(tests) == 2 and tests[0] == tests[1]:
        found.append("one test is named twice")
    if len(tests) == 1 and not ({"either", "compat"} & original.keys() or {"original", "bench"} <= original.keys()):
        found.append(f"{tests[0][1]} does not run in both modes")
    return found


ROWS = rows(PAGE.read_text(encoding="utf-8"))


def test_the_table_is_found():
    assert len(ROWS) > 30
    names = [row[0] for row in ROWS]
    assert len(dict.fromkeys(names)) == len(names)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_difference_has_a_test_for_each_side(row):
    assert faults(row) == []


GOOD = [
    "id-not-due",
    "where",
    "original",
    "default",
    "source",
    "`test_further_pops.test_pop_with_id_of_the_original_delivers_a_message_before_it_is_due`, "
    "`test_further_pops.test_pop_with_id_leaves_a_message_alone_that_is_not_due`",
]


@pytest.mark.parametrize(
    ("cell", "text", "fault"),
    [
        (2, "", "a cell is empty"),
        (5, "", "a cell is empty"),
        (5, "none", "one or two tests must be named"),
        (5, "`test_pop.test_no_such_thing`", "there is no test test_no_such_thing"),
        (5, "`test_no_such_module.test_x`", "there is no test test_x"),
        (
            5,
            "`test_pop.test_nothing_is_left_after_clear`, `test_pop.test_nothing_is_left_after_clear`",
            "test_nothing_is_left_after_clear is not about the original",
        ),
        (
            5,
            "`test_pop.test_misses_of_the_original_shorten_the_batch`, "
            "`test_pop.test_misses_of_the_original_shorten_the_batch`",
            "test_misses_of_the_original_shorten_the_batch is not about the default",
        ),
        (
            5,
            "`test_pop.test_misses_of_the_original_shorten_the_batch`",
            "test_misses_of_the_original_shorten_the_batch does not run in both modes",
        ),
    ],
)
def test_a_row_that_lacks_something_is_found(cell, text, fault):
    assert faults(GOOD) == []
    assert fault in faults([*GOOD[:cell], text, *GOOD[cell + 1 :]])
