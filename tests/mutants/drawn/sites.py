"""Sites: where in the product which operator applies, each as a ``Mutant`` that the suite can plant."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from mutants.drawn.operators import CHANGEABLE, OPERATORS, Surroundings
from mutants.mutant import FOLDERS, Mutant

_LOGGING = ("log", "logger", "logging")
"""A call on what is called so writes a log text."""

_NAMES_ONLY = ("__all__", "__slots__")


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """``scope``: the functions and classes around it, as in ``Vote.submit``; empty at the top of a module."""

    mutant: Mutant
    operator: str
    scope: str

    @property
    def package(self) -> str:
        return self.mutant.path.partition("/")[0]


def product_files(root: Path) -> list[Path]:
    """Every module of the product, relative to ``root``."""
    return sorted(path.relative_to(root) for folder in FOLDERS for path in (root / folder).rglob("*.py"))


def sites(root: Path) -> list[Site]:
    """All sites of the product, in the order of files and lines."""
    files = product_files(root)
    trees = {path: ast.parse((root / path).read_text(encoding="utf-8")) for path in files}
    defaults = _defaults(trees.values())
    return [site for path in files for site in _of_file(root, path, trees[path], defaults)]


def _defaults(trees: Iterable[ast.Module]) -> Mapping[str, frozenset[str]]:
    """The parameters with a default by the name of their function, and the fields with one by that of their class."""
    found: dict[str, set[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                positional = [*node.args.posonlyargs, *node.args.args]
                names = {one.arg for one in positional[len(positional) - len(node.args.defaults) :]}
                pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                names |= {one.arg for one, default in pairs if default is not None}
                found.setdefault(node.name, set()).update(names)
            elif isinstance(node, ast.ClassDef):
                fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and one.value is not None]
                names = {one.target.id for one in fields if isinstance(one.target, ast.Name)}
                found.setdefault(node.name, set()).update(names)
    return {name: frozenset(names) for name, names in found.items()}


def _of_file(root: Path, path: Path, tree: ast.Module, defaults: Mapping[str, frozenset[str]]) -> Iterator[Site]:
    text = (root / path).read_text(encoding="utf-8")
    module = ".".join(path.with_suffix("").parts)
    module = module if path.parts[0] == "zonelab" else f"zonelab.{module}"
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    rows = _Rows(text)
    counts: dict[tuple[str, int], int] = {}
    for node, scope, inside in _mutable(tree, "", ""):
        if not isinstance(node, CHANGEABLE):
            continue
        around = Surroundings(defaults=defaults, parents=parents, inside=inside)
        for operator, apply in OPERATORS.items():
            for changed in apply(node, around):
                line = getattr(node, "lineno", 0)
                number = counts[operator, line] = counts.get((operator, line), 0) + 1
                mutant = _mutant(module, tree, rows, node, changed, scope)
                if mutant is not None:
                    name = f"{path.as_posix()}:{line}:{operator}:{number}"
                    yield Site(mutant=replace(mutant, id=name), operator=operator, scope=scope)


def _mutable(node: ast.AST, scope: str, inside: str) -> Iterator[tuple[ast.AST, str, str]]:
    """Every node that may be changed: no annotations, f-strings, patterns, log texts."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_left_out(child):
                continue
            below, within = scope, inside
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                below = f"{scope}.{child.name}" if scope else child.name
                within = "" if isinstance(child, ast.ClassDef) else child.name
            yield child, below, within
            yield from _mutable(child, below, within)


def _is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr | ast.pattern):
        return True
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id in _NAMES_ONLY for target in node.targets)
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(value, ast.Constant):
            return True
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            owner = value.func.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            return name.lower().lstrip("_") in _LOGGING
    return False


class _Rows:
    """The lines of a file; columns of the syntax tree count bytes."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines(keepends=True)

    def column(self, line: int, offset: int) -> int:
        return len(self.lines[line - 1].encode()[:offset].decode())


def _mutant(module: str, tree: ast.Module, rows: _Rows, node: ast.AST, changed: ast.AST, scope: str) -> Mutant | None:
    """``node`` replaced, as whole lines of its function; None where the text cannot be had, as within f-strings."""
    line, end = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if line is None or end is None:
        return None
    begin = rows.column(line, node.col_offset)  # type: ignore[attr-defined]
    stop = rows.column(end, node.end_col_offset)  # type: ignore[attr-defined]
    old = "".join(rows.lines[line - 1 : end])
    text = ast.unparse(ast.fix_missing_locations(changed))
    if isinstance(node, ast.expr) and not isinstance(changed, ast.Constant | ast.Name):
        text = f"({text})"
    tail = rows.lines[end - 1][stop:]
    new = rows.lines[line - 1][:begin] + text + tail
    function, first, last = _plantable(tree, scope)
    inside = "".join(rows.lines[first - 1 : last])
    at = len("".join(rows.lines[first - 1 : line - 1]))
    occurrence, found = 0, -1
    while found < at:
        found = inside.find(old, found + 1)
        if found < 0:
            return None
        occurrence += 1
    return Mutant(id="", module=module, function=function, old=old, new=new, breaks="Drawn.", occurrence=occurrence)


def _plantable(tree: ast.Module, scope: str) -> tuple[str, int, int]:
    """The innermost part of ``scope`` that its name alone finds, with its first and last line."""
    found: list[str] = []
    nodes: list[ast.AST] = [tree]
    first, last = 1, 10**9
    for name in scope.split(".") if scope else ():
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        below = [one for parent in nodes for one in ast.iter_child_nodes(parent)]
        below = [one for one in below if isinstance(one, kinds) and one.name == name]
        if len(below) != 1:
            break
        found.append(name)
        nodes = list(below)
        first, last = below[0].lineno, below[0].end_lineno or last
    return ".".join(found), first, last


def fingerprint(site: Site, root: Path) -> str:
    """Differs when the file of ``site`` does: what was found of an older text is no result of this one."""
    return sha256((root / site.mutant.path).read_bytes()).hexdigest()[:16]
