"""What the pages of the documentation say that can be checked: links, paths, names of modules, and commands.

Every check takes the text of a page and gives what is wrong in it, each fault as one line.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import typer
from support.project_files import FOLDERS, ROOT

from zonelab.app.cli.app import app

RECORDS = ("tests/mutants/README.md",)
"""Pages that a command made at the commit that they name; paths and names are those of that commit."""

PLACEHOLDER = "NAME"
"""Stands in a path for what the reader chooses; the folder before it is looked at."""

_ANY = "|".join(FOLDERS)

MADE = frozenset({"story.md"})
"""Pages that commands write; the project has none of that name."""

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n.*?^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^(?: {4}|\t).*$", re.MULTILINE)
_INLINE = re.compile(r"`([^`]+)`")
_COMMAND_OF_PAGE = re.compile(r"`[^`\n]+` made this page at commit")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*?)\s*$", re.MULTILINE)
_PATH = re.compile(rf"(?<![\w./<…-])(?:zonelab|{_ANY}|tests|docs|docker|benchmarks)/[\w./*-]*\w\*?")
_MEMBER = re.compile(r"(?<![\w./-])([\w/-]+\.py)::(\w+(?:\.\w+)*)")
_FILE = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|lua|md))`")
_MODULE = re.compile(rf"(?<![\w./@-])((?:zonelab\.)?(?:{_ANY}|support)(?:\.\w+)+)")
_IMPORT = re.compile(rf"^ *from ((?:zonelab|{_ANY})\b[\w.]*) import (\([^)]*\)|[^(\n]+)$", re.MULTILINE)
_MAKE = re.compile(r"^ *(?:\$ )?make ([a-z-]+)|`make ([a-z-]+)[^`]*`", re.MULTILINE)


def broken_links(text: str, *, page: str, files: frozenset[str]) -> list[str]:
    """Links to files, and to headings of pages, that are not there."""
    return [
        f"{page}: no target of the link {target}"
        for target in _LINK.findall(_without_code(text))
        if not re.match(r"[a-z]+:", target) and not _is_there(target, text=text, page=page, files=files)
    ]


def _is_there(target: str, *, text: str, page: str, files: frozenset[str]) -> bool:
    path, _, anchor = target.partition("#")
    linked = (ROOT / page).parent.joinpath(path).resolve() if path else ROOT / page
    name = linked.relative_to(ROOT).as_posix() if linked.is_relative_to(ROOT) else ""
    if path and not _exists(name, files):
        return False
    return not anchor or anchor in _anchors(linked.read_text(encoding="utf-8") if path else text)


def _anchors(text: str) -> set[str]:
    """The anchors of a page's headings, made as GitHub makes them."""
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in _HEADING.findall(_FENCED.sub("", text)))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in plain}


def _without_code(text: str) -> str:
    return _INLINE.sub("", _INDENTED.sub("", _FENCED.sub("", text)))


def missing_paths(text: str, *, page: str, files: frozenset[str]) -> list[str]:
    """Paths of the project, and names of its modules and pages in backticks, that no file has."""
    paths = [path for path in _PATH.findall(text) if not _exists(path, files)]
    names = {name.rpartition("/")[2] for name in files} | MADE
    mentioned = (path.rpartition("/")[2] for path in _FILE.findall(text) if PLACEHOLDER not in path)
    paths += [name for name in mentioned if name not in names]
    return [f"{page}: there is no {path}" for path in paths]


def _exists(path: str, files: frozenset[str]) -> bool:
    path = path.partition(PLACEHOLDER)[0].rpartition("/")[0] if PLACEHOLDER in path else path.rstrip("/")
    if "*" in path:
        return any(fnmatchcase(name, path) for name in files)
    return path == "." or path in files or any(name.startswith(f"{path}/") for name in files)


def missing_names(text: str, *, page: str, files: frozenset[str]) -> list[str]:
    """Modules by dotted name, and functions and classes in them, that are not there."""
    mentioned = _MODULE.findall(_PYTHON.sub("", text))
    dotted = [name for name in mentioned if not name.endswith((".md", ".yaml", ".json", ".html"))]
    for module, names in _IMPORT.findall(text):
        dotted += [f"{module}.{name}" for name in re.findall(r"\w+", names.split("#")[0])]
    faults = [name for name in dotted if not _has_dotted(name, files)]
    for path, member in _MEMBER.findall(text):
        if path in files and member not in _members(ROOT / path):
            faults.append(f"{path}::{member}")
    return [f"{page}: there is no {fault}" for fault in faults]


def _has_dotted(dotted: str, files: frozenset[str]) -> bool:
    """``zonelab.engine`` is the folder ``engine``, which has no other name."""
    parts = dotted.split(".")
    base = "tests/" if parts[0] == "support" else ""
    if parts[0] in FOLDERS:
        return False
    if parts[0] == "zonelab" and parts[1] in FOLDERS:
        del parts[0]
    for split in range(len(parts), 0, -1):
        folder, rest = base + "/".join(parts[:split]), ".".join(parts[split:])
        for name in (f"{folder}.py", f"{folder}/__init__.py"):
            if name in files:
                return not rest or rest in _members(ROOT / name)
        if not rest and _exists(folder, files):
            return True
    return False


@cache
def _members(path: Path) -> frozenset[str]:
    """What a module defines or imports, also under ``if``, and what its classes define."""
    return frozenset(_names(ast.parse(path.read_text(encoding="utf-8")).body))


def _names(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
                yield from (f"{name}.{member}" for member in _names(node.body))
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name for alias in aliases)
            case ast.If():
                yield from _names(node.body + node.orelse)


def wrong_commands(text: str, *, page: str) -> list[str]:
    """Verbs and options of ``zonelab``, and targets of ``make``, that there are not.

    The command that made a page is a record of its commit, and stays as it was given.
    """
    text = _COMMAND_OF_PAGE.sub("", text)
    blocks = _FENCED.findall(text) + _INDENTED.findall(_FENCED.sub("", text))
    lines = [line for block in blocks for line in re.sub(r"\\\n", "", block).splitlines()]
    code = [*lines, *_INLINE.findall(_FENCED.sub("", text))]
    calls = [called for line in code for called in re.findall(r"(?:^|\W)zonelab (?!import )([a-z].*)", line)]
    faults = [fault for called in calls if (fault := _wrong(called))]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    made = [line or inline for line, inline in _MAKE.findall(text)]
    faults += [f"make {target}" for target in made if not re.search(rf"^{target}:", makefile, re.MULTILINE)]
    return [f"{page}: there is no {fault}" for fault in faults]


def _wrong(called: str) -> str:
    """The first word of a call that the command line does not know; empty if it knows all."""
    words = _words(called)
    command = typer.main.get_command(app)
    verbs = ["zonelab"]
    while isinstance(getattr(command, "commands", None), dict) and words and re.fullmatch(r"[a-z-]+", words[0]):
        verbs.append(words.pop(0))
        if verbs[-1] not in command.commands:
            return " ".join(verbs)
        command = command.commands[verbs[-1]]
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = (word.partition("=")[0] for word in words if re.match(r"--[a-z]", word))
    return next((" ".join([*verbs, word]) for word in unknown if word not in options | {"--help"}), "")


def _words(called: str) -> list[str]:
    command = re.split(r"[;|&]| #|  ", called)[0]
    try:
        return shlex.split(command)
    except ValueError:  # a quote that the mention leaves open
        return command.split()
