"""YAML as all files and options have it: one way to read it, with bounds, and one to write it.

Numbers are those of YAML 1.2: ``1e9`` and ``1e-3`` are floats, ``010`` is 10, ``12:30`` and ``2026-01-01`` are text.
"""

import re
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

if yaml.__with_libyaml__:
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

TEXT_MAX = 32 << 20
"""Characters of a text."""

DEPTH_MAX = 50
"""Lists and mappings within one another."""

REPEATED_MAX = 10_000
"""Values that aliases stand for, all together."""

DIGITS_MAX = 30
"""Digits of an integer."""

_CHARACTERS = list("-+0123456789.")
_INT = re.compile(r"[-+]?(?:0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)\Z")
_FLOAT = re.compile(
    r"[-+]?(?:(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))\Z|\.(?:nan|NaN|NAN)\Z"
)
_TAGS = {name: f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map")}


class NotYaml(ValueError):
    """The text is no YAML, or beyond a bound. One line, with the place."""


def read_yaml(text: str) -> Any:
    """Return the value that ``text`` says. Raises ``NotYaml``."""
    if len(text) > TEXT_MAX:
        raise NotYaml(f"got {len(text)} characters; accepted: at most {TEXT_MAX}")
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise NotYaml(_error_text(error)) from None
    except (ValueError, KeyError) as error:  # of characters that UTF-8 cannot have, and of !!bool x
        raise NotYaml(f"not valid YAML: {error}") from None


def write_yaml(value: Any) -> str:
    """Return ``value`` as a text that ``read_yaml`` reads back equal."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def _error_text(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable")
    return f"{where}{'' if isinstance(error, _Refused) else 'not valid YAML: '}{' '.join(problem.split())}"


class _Refused(yaml.MarkedYAMLError):
    """Beyond a bound."""


class _BoundedComposer(Composer):
    """Makes nodes out of what the parser finds, within the bounds; no key of a mapping comes twice."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0
        self._nodes = 0
        self._repeated = 0
        self._sizes: dict[str, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[attr-defined]
        before = self._nodes
        self._count(event)
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise _refused(event, f"got lists and mappings {self._depth} deep; accepted: at most {DEPTH_MAX}")
        node = super().compose_node(parent, index)
        self._depth -= 1
        if event.anchor is not None and not isinstance(event, yaml.AliasEvent):
            self._sizes[event.anchor] = self._nodes - before
        return node

    def _count(self, event: Any) -> None:
        if not isinstance(event, yaml.AliasEvent):
            self._nodes += 1
            return
        size = self._sizes.get(str(event.anchor))
        if size is None and event.anchor in self.anchors:
            raise _refused(event, f"got alias *{event.anchor} within its own value; accepted: outside of it")
        self._nodes += size or 0
        self._repeated += size or 0
        if self._repeated > REPEATED_MAX:
            raise _refused(event, f"got aliases for more than {REPEATED_MAX} values; accepted: at most {REPEATED_MAX}")

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if (key.tag, key.value) in seen:
                raise _refused(key, f"got key {key.value!r} twice; accepted: once")
            seen.add((key.tag, key.value))
        return node


def _refused(at: Any, problem: str) -> _Refused:
    return _Refused(problem=problem, problem_mark=at.start_mark)


class _InPython(Reader, Scanner, Parser):
    """Parses where PyYAML came without libyaml."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


_Events: Any = CParser if yaml.__with_libyaml__ else _InPython


class _Loader(_BoundedComposer, _Events, SafeConstructor, Resolver):  # type: ignore[misc]
    def __init__(self, text: str) -> None:
        _Events.__init__(self, text)
        _BoundedComposer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)

    def construct_int(self, node: Any) -> int:
        text = str(self.construct_scalar(node)).replace("_", "")
        digits = text.lstrip("+-")
        if len(digits) > DIGITS_MAX:
            raise _refused(node, f"got a number of {len(digits)} digits; accepted: at most {DIGITS_MAX}")
        return int(text, 0 if digits[:2].lower() in ("0b", "0o", "0x") else 10)

    def construct_float(self, node: Any) -> float:
        text = str(self.construct_scalar(node)).replace("_", "").lower()
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))


class _Dumper(yaml.SafeDumper):
    """Quotes what either version of YAML takes for something else than text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _set_up() -> None:
    """Give both the numbers of YAML 1.2, and the loader the types that JSON has, and no others."""
    others = (tag for tag in SafeConstructor.yaml_constructors if tag is not None and tag not in _TAGS.values())
    ours = {*others, _TAGS["int"], _TAGS["float"]}
    _Loader.yaml_implicit_resolvers = {
        first: [(tag, match) for tag, match in found if tag not in ours]
        for first, found in Resolver.yaml_implicit_resolvers.items()
    }
    for kind in (_Loader, _Dumper):
        kind.add_implicit_resolver(_TAGS["int"], _INT, _CHARACTERS)
        kind.add_implicit_resolver(_TAGS["float"], _FLOAT, _CHARACTERS)
    _Loader.yaml_constructors = {
        tag: build for tag, build in SafeConstructor.yaml_constructors.items() if tag is None or tag in _TAGS.values()
    }
    _Loader.add_constructor(_TAGS["int"], _Loader.construct_int)
    _Loader.add_constructor(_TAGS["float"], _Loader.construct_float)


_set_up()
