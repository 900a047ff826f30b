"""Every defect of the original that docs/dyno-queues.md and docs/dyno-v2.md list has tests of the original's side and
of ours, and every way to die that the latter lists has a test.

Method: the tables of the pages against the syntax trees of the test modules that they name. A test is about a side if
it takes, uses or names a queue of that side; one that stands for both must be about both. Then rows that lack
something, which must be found.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[3] / "docs"
PAGES = {
    version: (DOCS / name).read_text(encoding="utf-8")
    for version, name in (("v1", "dyno-queues.md"), ("v2", "dyno-v2.md"))
}
BOTH = {"either", "compat"}
ORIGINAL = {"original", "compat_bench"} | BOTH
DEFAULT = {"bench", "default", "change"} | BOTH
"""Words of a test, by the side that it is on."""


def rows(page, header):
    """The cells of each row of the table that begins with ``header``."""
    _, found, table = page.partition(header)
    assert found, header
    lines = table.split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


DIFFERENCES = [(version, row) for version, page in PAGES.items() for row in rows(page, "| row | where it shows |")]
DEATHS = rows(PAGES["v2"], "| operation | dies |")


@cache
def words_of(module):
    """Test name → the words of its source."""
    path = HERE / f"{module}.py"
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name: {*re.findall(r"\w+", ast.unparse(node))} for node in functions}


def faults(version, row):
    """What a row lacks. A module without a folder is in that of its version."""
    if len(row) != 6 or not all(row):
        return ["a cell is empty"]
    named = re.findall(r"`([\w/]+)\.(test_\w+)`", row[5])
    if not 1 <= len(named) <= 2:
        return ["one or two tests must be named"]
    tests = [(name, words_of(module if "/" in module else f"{version}/{module}").get(name)) for module, name in named]
    missing = [f"there is no test {name}" for name, words in tests if words is None]
    if missing:
        return missing
    (original, original_words), (default, default_words) = tests[0], tests[-1]
    found = [] if ORIGINAL & original_words else [f"{original} is not about the original"]
    found += [] if DEFAULT & default_words else [f"{default} is not about the default"]
    return found + (["one test is named twice"] if len(tests) == 2 and tests[0] == tests[1] else [])


def test_the_tables_are_found():
    names = [(version, row[0]) for version, row in DIFFERENCES]
    assert len(dict.fromkeys(names)) == len(names)
    assert [version for version, _ in names].count("v1") > 30
    assert [version for version, _ in names].count("v2") > 20
    assert len(DEATHS) > 6


@pytest.mark.parametrize(("version", "row"), DIFFERENCES, ids=[f"{version}-{row[0]}" for version, row in DIFFERENCES])
def test_a_difference_has_a_test_for_each_side(version, row):
    assert faults(version, row) == []


@pytest.mark.parametrize("row", DEATHS, ids=[f"{row[0]} {row[1]}".replace("`", "") for row in DEATHS])
def test_a_death_has_a_test(row):
    (name,) = re.findall(r"`(test_\w+)`", row[-1])
    assert any(name in words_of(f"v2/{module}") for module in ("test_crash_windows", "test_multi"))


ORIGINALS = "test_further_pops.test_pop_with_id_of_the_original_delivers_a_message_before_it_is_due"
OURS = "test_further_pops.test_pop_with_id_leaves_a_message_alone_that_is_not_due"
GOOD = ["id-not-due", "where", "original", "default", "source", f"`{ORIGINALS}`, `{OURS}`"]


@pytest.mark.parametrize(
    ("cell", "text", "fault"),
    [
        (2, "", "a cell is empty"),
        (5, "", "a cell is empty"),
        (5, "none", "one or two tests must be named"),
        (5, "`test_pop.test_no_such_thing`", "there is no test test_no_such_thing"),
        (5, "`test_no_such_module.test_x`", "there is no test test_x"),
        (5, f"`{OURS}`, `{OURS}`", f"{OURS.partition('.')[2]} is not about the original"),
        (5, f"`{OURS}`, `{OURS}`", "one test is named twice"),
        (5, f"`{ORIGINALS}`, `{ORIGINALS}`", f"{ORIGINALS.partition('.')[2]} is not about the default"),
        (5, f"`{OURS}`", f"{OURS.partition('.')[2]} is not about the original"),
        (5, f"`{ORIGINALS}`", f"{ORIGINALS.partition('.')[2]} is not about the default"),
    ],
)
def test_a_row_that_lacks_something_is_found(cell, text, fault):
    assert faults("v1", GOOD) == []
    assert fault in faults("v1", [*GOOD[:cell], text, *GOOD[cell + 1 :]])
