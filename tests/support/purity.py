"""What would make a run depend on more than its seed, found in the source of what runs in simulation."""

import ast
from collections.abc import Iterable, Iterator

FOREIGN_MODULES = frozenset(
    {
        "_thread",
        "asyncio",
        "concurrent",
        "datetime",
        "importlib",
        "multiprocessing",
        "os",
        "queue",
        "secrets",
        "select",
        "signal",
        "socket",
        "subprocess",
        "threading",
        "time",
        "uuid",
        "uvloop",
    }
)
FOREIGN_CALLS = frozenset({"__import__", "hash", "id"})
SET_TYPES = frozenset({"AbstractSet", "MutableSet", "frozenset", "set"})
SET_METHODS = frozenset({"difference", "intersection", "symmetric_difference", "union"})
VIEWS = frozenset({"items", "keys"})
IN_ORDER = frozenset(
    {"deque", "dict", "enumerate", "filter", "iter", "list", "map", "next", "reversed", "tuple", "zip"}
)
IN_ORDER_METHODS = frozenset({"extend", "fromkeys", "join", "writelines"})
SUMS = frozenset({"fsum", "sum"})
"""Sums of floats depend on the order of their terms."""


def impurities(source: str) -> list[tuple[int, str]]:
    """(line, what) of every import, call and iteration that the seed does not decide, in order."""
    tree = ast.parse(source)
    sets = names_of_sets(tree)
    found = {(line, what) for node in ast.walk(tree) for line, what in (*_foreign(node), *_iterations(node, sets))}
    return sorted(found)


def _foreign(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import):
        for name in (alias.name for alias in node.names):
            if name.split(".")[0] in FOREIGN_MODULES or name in ("random", "numpy.random"):
                yield node.lineno, f"import {name}"
    elif isinstance(node, ast.ImportFrom):
        module, names = node.module or "", [alias.name for alias in node.names]
        random = (module == "random" and names != ["Random"]) or (module.startswith("numpy") and "random" in names)
        if module.split(".")[0] in FOREIGN_MODULES or random or module == "numpy.random":
            yield node.lineno, f"from {module} import {', '.join(names)}"
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if (node.value.id, node.attr) in (("np", "random"), ("numpy", "random")):
            yield node.lineno, f"{node.value.id}.{node.attr}"
    elif isinstance(node, ast.Call):
        name = name_of(node.func)
        if name == "__hash__" or (name in FOREIGN_CALLS and isinstance(node.func, ast.Name)):
            yield node.lineno, f"{name}()"
        if name == "Random" and not node.args and not node.keywords:
            yield node.lineno, "a random stream without a seed"


def _iterations(node: ast.AST, sets: frozenset[str]) -> Iterator[tuple[int, str]]:
    for iterated in _iterated(node):
        if is_set(iterated, sets):
            yield iterated.lineno, "iteration over a set"


def _iterated(node: ast.AST) -> Iterable[ast.expr]:
    """The expressions whose order ``node`` lets show."""
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        return [node.iter]
    if isinstance(node, ast.Starred | ast.YieldFrom):
        return [node.value]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple | ast.List):
        return [node.value]
    if isinstance(node, ast.Call):
        name = name_of(node.func)
        if isinstance(node.func, ast.Attribute):
            popped = [node.func.value] if name == "pop" and not node.args else []
            return [*node.args, *popped] if name in IN_ORDER_METHODS else popped
        # Equal keys stay in the order in which they come.
        keyed = name == "sorted" and any(keyword.arg == "key" for keyword in node.keywords)
        return node.args if name in IN_ORDER | SUMS or keyed else []
    return []


def is_set(node: ast.expr, sets: frozenset[str]) -> bool:
    """Whether the expression is a set as far as its text and the names of sets tell."""
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Name | ast.Attribute):
        return name_of(node) in sets
    if isinstance(node, ast.IfExp):
        return is_set(node.body, sets) or is_set(node.orelse, sets)
    if isinstance(node, ast.BoolOp):
        return any(is_set(value, sets) for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.BitXor | ast.Sub):
        return any(is_set(side, sets) or _is_view(side) for side in (node.left, node.right))
    if isinstance(node, ast.Call):
        name = name_of(node.func)
        return name in ("set", "frozenset") or name in (SET_METHODS if isinstance(node.func, ast.Attribute) else sets)
    return False


def _is_view(node: ast.expr) -> bool:
    """Dictionaries keep their order; what set operations make of their keys does not."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS


def names_of_sets(tree: ast.AST) -> frozenset[str]:
    """Variables, attributes, parameters and functions that are sets, or give one, somewhere in the module."""
    found: frozenset[str] = frozenset()
    while True:
        more = found | {name for node in ast.walk(tree) for name in _bound_to_a_set(node, found)}
        if more == found:
            return found
        found = more


def _bound_to_a_set(node: ast.AST, sets: frozenset[str]) -> Iterator[str]:
    if isinstance(node, ast.AnnAssign) and _annotates_a_set(node.annotation):
        yield name_of(node.target)
    elif isinstance(node, ast.arg) and _annotates_a_set(node.annotation):
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _annotates_a_set(node.returns):
        yield node.name
    elif isinstance(node, ast.Assign) and is_set(node.value, sets):
        yield from (name_of(target) for target in node.targets if isinstance(target, ast.Name | ast.Attribute))
    elif isinstance(node, ast.NamedExpr) and is_set(node.value, sets):
        yield node.target.id


def _annotates_a_set(node: ast.expr | None) -> bool:
    if isinstance(node, ast.BinOp):
        return _annotates_a_set(node.left) or _annotates_a_set(node.right)
    if isinstance(node, ast.Subscript):
        return _annotates_a_set(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr in SET_TYPES | {
            "Set"
        }  # `Set` alone is a value of the simulated Redis, whose members have an order
    return isinstance(node, ast.Name) and node.id in SET_TYPES


def name_of(node: ast.AST) -> str:
    """The last part of a dotted name; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
