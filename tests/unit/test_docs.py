"""Goal: every link, path, name and command in the pages is true. Method: each page against the files that git lists.

Each check is also shown a page that breaks it.
"""

import ast
import subprocess

import pytest
from support.made_parts import PAGES, PARTS, made, parts_of
from support.pages import RECORDS, broken_links, missing_names, missing_paths, wrong_commands
from support.project_files import ROOT, project_files

MOVES = ".git-blame-ignore-revs"


def faults(text, *, page, files):
    found = [*broken_links(text, page=page, files=files), *wrong_commands(text, page=page)]
    if page not in RECORDS:
        found += [*missing_paths(text, page=page, files=files), *missing_names(text, page=page, files=files)]
    return found


def test_what_the_pages_say_is_true():
    pages = sorted(name for name in project_files() if name.endswith(".md"))
    assert {"README.md", "docs/guide.md"} <= set(pages)
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in pages}
    assert [fault for page, text in texts.items() for fault in faults(text, page=page, files=project_files())] == []


def imports(source):
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return "\n".join(f"from {node.module} import {one.name}" for node in nodes for one in node.names)


def test_benchmarks_import_what_there_is():
    files = project_files()
    programs = sorted(name for name in files if name.startswith("benchmarks/") and name.endswith(".py"))
    told = {name: imports((ROOT / name).read_text(encoding="utf-8")) for name in programs}
    assert [fault for name, text in told.items() for fault in missing_names(text, page=name, files=files)] == []
    wrong = imports("if True:\n    from zonelab.engine.queue import (\n        Queue,\n        Missing,\n    )")
    assert missing_names(wrong, page="b", files=files) == ["b: there is no zonelab.engine.queue.Missing"]


FILES = frozenset(
    {
        "README.md",
        "docs/guide.md",
        "zonelab/__init__.py",
        "engine/ports.py",
        "engine/message.py",
        "cluster/votes/levels.py",
        "tests/unit/test_docs.py",
    }
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[a](missing.md)", "no target of the link missing.md"),
        ("[a](../missing/)", "no target of the link ../missing/"),
        ("![a](guide.png)", "no target of the link guide.png"),
        ("[a](../README.md#no-such-heading)", "no target of the link ../README.md#no-such-heading"),
        ("# A heading\n[a](#another)", "no target of the link #another"),
        ("[a](../../outside.md)", "no target of the link ../../outside.md"),
        ("in engine/missing.py, say", "there is no engine/missing.py"),
        ("in engine/missing/", "there is no engine/missing"),
        ("all of engine/x_*.py", "there is no engine/x_*.py"),
        ("in engine/missing/NAME.py", "there is no engine/missing/NAME.py"),
        ("see `missing.py`", "there is no missing.py"),
        ("see `unit/missing.md`", "there is no missing.md"),
        ("```\npython benchmarks/missing.py\n```", "there is no benchmarks/missing.py"),
        ("from `engine.missing`", "there is no engine.missing"),
        ("from `engine.ports.Missing`", "there is no engine.ports.Missing"),
        (
            "```python\nfrom zonelab.engine.ports import Command, Missing\n```",
            "there is no zonelab.engine.ports.Missing",
        ),
        (
            "```python\nfrom zonelab.engine.ports import (\n    Missing,\n)\n```",
            "there is no zonelab.engine.ports.Missing",
        ),
        ("from `engine.ports`", "there is no engine.ports"),
        ("```python\nfrom engine.ports import Command\n```", "there is no engine.ports.Command"),
        ("`engine/ports.py::Missing`", "there is no engine/ports.py::Missing"),
        ("`engine/ports.py::Runtime.missing`", "there is no engine/ports.py::Runtime.missing"),
        ("`zonelab missing`", "there is no zonelab missing"),
        ("    zonelab fault missing b", "there is no zonelab fault missing"),
        ("```\n$ zonelab run steady --missing 3\n```", "there is no zonelab run --missing"),
        ("`make missing`", "there is no make missing"),
    ],
)
def test_a_broken_mention_is_found(text, fault):
    assert faults(text, page="docs/guide.md", files=FILES) == [f"docs/guide.md: {fault}"]


@pytest.mark.parametrize(
    "text",
    [
        "[a](../README.md), [b](../engine/), [c](../README.md#limits), [d](https://example.org/missing.md#x)",
        "# What *it* costs, `make` or not\n[a](#what-it-costs-make-or-not)",
        "`[a](missing.md)` and\n```\n[b](missing.md)\n```",
        "engine/ports.py, `engine/`, cluster/votes/*.py, `ports.py`; runs/x/latest, https://example.org/docs/x.md",
        "`engine/NAME/queue.py` and `tests/unit/test_NAME.py`",
        "`zonelab.engine.ports.Runtime.sleep`, zonelab.cluster.votes, `engine/ports.py::Runtime`",
        "all of zonelab.engine.ports. And so on",
        "```python\nfrom zonelab.engine.ports import Command, Runtime  # of all\ncluster.start()\n```",
        "zonelab says so; `zonelab run FILE --seed 7 | head`, `zonelab fault cut b --for 10s`, `zonelab --help`",
        "    make test     # sets up\n    zonelab matrix --runs 40 --jobs 2  # with --missing",
        "`zonelab matrix --missing` made this page at commit 810b484",
    ],
)
def test_a_true_mention_is_no_fault(text):
    assert faults(text, page="docs/guide.md", files=FILES) == []


def test_a_record_of_a_commit_may_name_what_has_gone_since():
    text = "`engine/missing.py` and `engine.missing`, [a](missing.md)"
    assert faults(text, page="tests/mutants/README.md", files=FILES) == [
        "tests/mutants/README.md: no target of the link missing.md"
    ]


def test_what_is_made_from_the_code_stands_in_the_pages_as_it_is_now():
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    assert sorted(name for text in texts.values() for name in parts_of(text)) == sorted(PARTS)
    stale = [page.name for page, text in texts.items() if made(text) != text]
    assert stale == [], "PYTHONPATH=tests python -m support.made_parts writes them"
    verdicts = texts[ROOT / "docs" / "verdicts.md"]
    for old, new in (
        ("never acked and is still", "still"),
        ("| `lost` |", "| `gone` |"),
        ("| forbidden |", "| allowed |"),
    ):
        assert made(verdicts.replace(old, new, 1)) == verdicts != verdicts.replace(old, new, 1)


def test_the_glossary_has_each_term_once_and_in_order():
    page = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    words, classes = page.split("## Message classes")
    for part in (words, classes):
        terms = [line.split("|")[1].strip() for line in part.splitlines() if line.startswith("| ")][1:]
        assert len(terms) > 15
        assert terms == sorted(dict.fromkeys(terms), key=str.casefold)


def test_every_package_says_what_it_is_and_names_what_is_there():
    packages = sorted(
        name for name in project_files() if name.endswith("/__init__.py") and not name.startswith("tests/")
    )
    openings = {
        name: ast.get_docstring(ast.parse((ROOT / name).read_text(encoding="utf-8"))) or "" for name in packages
    }
    assert [name for name, opening in openings.items() if not opening] == []
    assert [
        fault for name, opening in openings.items() for fault in faults(opening, page=name, files=project_files())
    ] == []


def test_every_page_that_code_names_is_there():
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in project_files()
        if name.endswith((".py", ".lua", ".toml"))
    }
    del texts["tests/unit/test_docs.py"]
    pages = {
        name: [fault for fault in missing_paths(text, page=name, files=project_files()) if " docs/" in fault]
        for name, text in texts.items()
    }
    assert {name: missing for name, missing in pages.items() if missing} == {}


def test_the_commits_that_blame_passes_over_are_in_the_history():
    lines = (ROOT / MOVES).read_text(encoding="utf-8").splitlines()
    commits = [line.split()[0] for line in lines if line and not line.startswith("#")]
    assert commits
    shallow = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if shallow.stdout.strip() != "false":
        pytest.skip("needs git and the whole history")
    for commit in commits:
        found = subprocess.run(
            ["git", "merge-base", "--is-ancestor", commit, "HEAD"], cwd=ROOT, check=False, capture_output=True
        )
        assert found.returncode == 0, commit
