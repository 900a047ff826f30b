"""Operators on the syntax tree: each names one kind of small fault and lists where a node can have it.

An operator takes a node and its ``Surroundings`` and returns the nodes that may stand in its place.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """``defaults``: the parameters with a default of each function and class of the product, by its name.

    ``parents``: the node around each node. ``inside``: the name of the innermost function; empty outside functions.
    """

    defaults: Mapping[str, frozenset[str]]
    parents: Mapping[ast.AST, ast.AST] = field(default_factory=dict)
    inside: str = ""


Operator = Callable[[ast.AST, Surroundings], Iterable[ast.AST]]

_SWAPPED_COMPARISONS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_SWAPPED_NAMES = {"max": "min", "min": "max"}


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    other = copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _drop_term(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield node.left


def _swap_sign(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and not (_is_text(node.left) or _is_text(node.right)):
        if isinstance(node.op, ast.Add):
            yield _changed(node, op=ast.Sub())
        elif isinstance(node.op, ast.Sub):
            yield _changed(node, op=ast.Add())


def _drop_sorted(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sorted":
        yield ast.Call(func=ast.Name(id="list", ctx=ast.Load()), args=node.args, keywords=[])


def _drop_not(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand


def _drop_condition(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        for dropped in range(len(node.values)):
            left = node.values[:dropped] + node.values[dropped + 1 :]
            yield left[0] if len(left) == 1 else _changed(node, values=left)


def _swap_logic(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def _swap_extreme(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SWAPPED_NAMES:
        yield _changed(node, func=ast.Name(id=_SWAPPED_NAMES[node.func.id], ctx=ast.Load()))


def _move_border(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            if type(operator) in _SWAPPED_COMPARISONS:
                swapped = _SWAPPED_COMPARISONS[type(operator)]()
                yield _changed(node, ops=[*node.ops[:index], swapped, *node.ops[index + 1 :]])


def _assign_instead(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
        yield ast.Assign(targets=[node.target], value=node.value, lineno=node.lineno)


def _swap_leaving(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.Break):
        yield ast.Continue()
    elif isinstance(node, ast.Continue):
        yield ast.Break()


def _raise_constant(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(value=node.value + 1)


def _drop_element(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.Dict):
        for index in range(len(node.keys)):
            keys, values = node.keys[:index] + node.keys[index + 1 :], node.values[:index] + node.values[index + 1 :]
            yield ast.Dict(keys=keys, values=values)
    elif isinstance(node, ast.List | ast.Set | ast.Tuple) and _is_collection(node, around):
        for index in range(len(node.elts)):
            left = node.elts[:index] + node.elts[index + 1 :]
            yield _changed(node, elts=left) if left or not isinstance(node, ast.Set) else _empty_set()


def _empty_set() -> ast.AST:
    return ast.Call(func=ast.Name(id="set", ctx=ast.Load()), args=[], keywords=[])


def _is_collection(node: ast.List | ast.Set | ast.Tuple, around: Surroundings) -> bool:
    """Return whether the elements are alike: not a target, nor a tuple whose places have a meaning each."""
    if not isinstance(node, ast.Tuple):
        return not isinstance(getattr(node, "ctx", None), ast.Store)
    parent = around.parents[node]
    return isinstance(parent, ast.Compare | ast.For | ast.comprehension) or (
        isinstance(parent, ast.Assign | ast.AnnAssign) and not around.inside
    )


def _drop_option(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for index, keyword in enumerate(node.keywords):
            if keyword.arg in around.defaults.get(name, ()):
                yield _changed(node, keywords=node.keywords[:index] + node.keywords[index + 1 :])


def _drop_call(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and around.inside:
        yield ast.Pass()


def _drop_await(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Await):
        yield ast.Pass()


def _drop_reset(node: ast.AST, around: Surroundings) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assign) and around.inside not in ("", "__init__") and _is_nothing(node.value):
        yield ast.Pass()


def _is_nothing(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None or (type(node.value) is int and node.value == 0)
    return (isinstance(node, ast.Dict) and not node.keys) or (isinstance(node, ast.Tuple) and not node.elts)


OPERATORS: Mapping[str, Operator] = {
    "drop-term": _drop_term,
    "swap-sign": _swap_sign,
    "drop-sorted": _drop_sorted,
    "drop-not": _drop_not,
    "drop-condition": _drop_condition,
    "swap-logic": _swap_logic,
    "swap-extreme": _swap_extreme,
    "move-border": _move_border,
    "assign-instead": _assign_instead,
    "swap-leaving": _swap_leaving,
    "raise-constant": _raise_constant,
    "drop-element": _drop_element,
    "drop-option": _drop_option,
    "drop-call": _drop_call,
    "drop-await": _drop_await,
    "drop-reset": _drop_reset,
}

CHANGEABLE = (
    *(ast.Assign, ast.AugAssign, ast.BinOp, ast.BoolOp, ast.Break, ast.Call, ast.Compare, ast.Constant, ast.Continue),
    *(ast.Dict, ast.Expr, ast.List, ast.Set, ast.Tuple, ast.UnaryOp),
)
"""Kinds of nodes to which some operator applies."""
