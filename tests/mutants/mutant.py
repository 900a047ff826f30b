"""Mutants: small faults, planted one at a time, that some test or simulated run should notice."""

import ast
from dataclasses import dataclass
from pathlib import Path

from lupa import lua51
from support import project_files

FOLDERS = ("zonelab", *project_files.FOLDERS)
"""Where the product is; ``zonelab`` has links to the others, which its packages are."""


class CatalogueError(Exception):
    """A mutant that cannot be planted, or that would change nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """``old`` becomes ``new`` within ``function`` (as in ``Vote.submit``) of ``module``; ``breaks``: what that does.

    ``old`` occurs there once, or ``occurrence`` says which one is meant, the first being 1. ``script``: the path of a
    Lua script that is changed instead, anywhere in it; ``module`` and ``function`` then say who has it run.
    """

    id: str
    module: str
    function: str
    old: str
    new: str
    breaks: str
    script: str = ""
    occurrence: int = 0

    @property
    def path(self) -> str:
        """The changed file, relative to the root of the project."""
        return self.script or source_path(self.module)

    @property
    def place(self) -> str:
        return self.script or f"{self.module}.{self.function}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Planted:
    """``text`` is the whole changed file; ``lines`` are those of ``module`` that run when the fault matters.

    ``around``: those of the whole statement, or where it runs on import, as a default in a signature does, those of the
    function, class or module.
    """

    text: str
    lines: range
    around: range


def source_path(module: str) -> str:
    """Return where the text of ``module`` really is, past the links."""
    inside = module.removeprefix("zonelab.")
    module = inside if inside.partition(".")[0] in FOLDERS else module
    return module.replace(".", "/") + ".py"


def plant(mutant: Mutant, root: Path) -> Planted:
    """The file of ``mutant`` with the fault in it; nothing is written. Raises ``CatalogueError``."""
    caller = _read(mutant, root, source_path(mutant.module))
    span = _span(mutant, caller)
    if mutant.script:
        text = _read(mutant, root, mutant.script)
        changed, _ = _replaced(mutant, text)
        _check_lua(mutant, changed)
        return Planted(text=changed, lines=span[1:], around=span[1:])
    rows = caller.splitlines(keepends=True)
    inside = "".join(rows[span.start - 1 : span.stop - 1])
    replaced, at = _replaced(mutant, inside)
    changed = "".join([*rows[: span.start - 1], replaced, *rows[span.stop - 1 :]])
    _check_python(mutant, caller, changed)
    first = span.start + inside.count("\n", 0, at)
    lines = range(first, first + mutant.old.count("\n") + 1)
    return Planted(text=changed, lines=lines, around=_around(ast.parse(caller), first) or span)


def _read(mutant: Mutant, root: Path, path: str) -> str:
    try:
        return (root / path).read_text(encoding="utf-8")
    except OSError as error:
        raise CatalogueError(f"{mutant.id}: {error}") from None


def _span(mutant: Mutant, text: str) -> range:
    """The lines of the function or class, decorators left out; all lines where none is named."""
    if not mutant.function:
        return range(1, text.count("\n") + 2)
    nodes = [ast.parse(text)]
    for name in mutant.function.split("."):
        nodes = [node for parent in nodes for node in _defined(parent, name)]
    if len(nodes) != 1:
        raise CatalogueError(f"{mutant.id}: {mutant.module} has {len(nodes)} of {mutant.function}")
    (found,) = nodes
    assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    assert found.end_lineno is not None
    return range(found.lineno, found.end_lineno + 1)


def _around(tree: ast.Module, line: int) -> range | None:
    """The lines of the statement at ``line``, without those of its blocks; None if it runs on import."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    statements = [one for one in ast.walk(tree) if isinstance(one, ast.stmt)]
    outer = [one for one in statements if one.lineno <= line <= (one.end_lineno or one.lineno)]
    outer.sort(key=lambda one: one.lineno)
    if not any(isinstance(one, functions) for one in outer):
        return None
    found = outer[-1]
    stop = (found.end_lineno or found.lineno) + 1
    if isinstance(found, functions):
        return range(found.lineno, stop)
    blocks = [one.lineno for one in ast.iter_child_nodes(found) if isinstance(one, ast.stmt)]
    return range(found.lineno, min([stop, *blocks]))


def _defined(parent: ast.AST, name: str) -> list[ast.AST]:
    """What is called ``name`` directly in ``parent``."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node for node in ast.iter_child_nodes(parent) if isinstance(node, kinds) and node.name == name]


def _replaced(mutant: Mutant, text: str) -> tuple[str, int]:
    """The changed text, and where the change begins."""
    count = text.count(mutant.old)
    if count != 1 and not 1 <= mutant.occurrence <= count:
        raise CatalogueError(f"{mutant.id}: {mutant.old!r} occurs {count} times in {mutant.place}")
    at = -1
    for _ in range(max(1, mutant.occurrence)):
        at = text.index(mutant.old, at + 1)
    return text[:at] + mutant.new + text[at + len(mutant.old) :], at


def _check_python(mutant: Mutant, before: str, after: str) -> None:
    try:
        compile(after, mutant.path, "exec")
    except SyntaxError as error:
        raise CatalogueError(f"{mutant.id} does not compile: {error}") from None
    if ast.dump(ast.parse(before)) == ast.dump(ast.parse(after)):
        raise CatalogueError(f"{mutant.id} changes nothing")


def _check_lua(mutant: Mutant, after: str) -> None:
    if mutant.old == mutant.new:
        raise CatalogueError(f"{mutant.id} changes nothing")
    try:
        lua51.LuaRuntime().compile(after)
    except lua51.LuaSyntaxError as error:
        raise CatalogueError(f"{mutant.id} does not compile: {error}") from None
