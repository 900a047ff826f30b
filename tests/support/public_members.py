"""Members of the public modules: their functions, the classes that these lead to, and the methods and properties there;
what the docstring of each lacks; and the program that the example in it is.
"""

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from importlib import import_module
from io import StringIO
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, get_overloads
from unittest import TestCase

PUBLIC = ("zonelab", "zonelab.queues", "zonelab.testing", "zonelab.runs")
OWN_SERVER = "redis://127.0.0.1:6379"

NEED_NO_EXAMPLE: Mapping[str, str] = {
    "name": "an attribute",
    "zone": "an attribute",
    "ServerError": "the example of Server.execute handles it",
    "Unavailable": "the example of Cluster.fault handles it",
    "Indeterminate": "the example of Cluster.fault handles it",
    "BatchMessage": "the example of ConsumeStatus is given one",
    "BatchContext": "the example of ConsumeStatus is given one",
    "Site": "the example of QueueMachine is handed one",
    "QueueOpening": "the example of zonelab.queues opens one",
    "OrderedOpening": "the example of open_ordered opens one",
    "ServerOpening": "the example of connect opens one",
    "Run.of": "the example of zonelab.runs.read reads one",
    "process_unacks": "of the engines that are shipped none has to be told",
    "Verdict.of": "the checkers make verdicts",
    "SimCluster.start": "sim_test does it",
    "SimCluster.stop": "sim_test does it",
    "QueueMachine.begin": "to be overridden: docs/properties.md",
    "QueueMachine.end": "to be overridden: docs/properties.md",
    "QueueMachine.program": "to be overridden: docs/properties.md",
    "QueueMachine.make_queue": "the example of QueueMachine overrides it",
    "QueueMachine.home": "to be overridden: docs/properties.md",
    "QueueMachine.holdings": "to be overridden: docs/properties.md",
    "QueueMachine.teardown": "Hypothesis calls it",
}
"""By name, or class and name; and why."""

_EXAMPLE = re.compile(r"Example(?:(?P<servers>, on servers)|, [^:]*)?::\n\n(?P<program>.*?)(?=\n\S|\Z)", re.DOTALL)
_PRINTED = re.compile(r"^\s*print\(.*\)  # (.*)$", re.MULTILINE)
_SECTION = re.compile(r"^(Args|Returns|Raises):\n((?:(?: +.*)?(?:\n|\Z))+)", re.MULTILINE)
_HOLE = re.compile(r"^( *)\.\.\.$", re.MULTILINE)
"""Stands in the example of a class for those of its methods."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """A module, function, class, method or property. ``name``: of a method with its class."""

    name: str
    value: Any
    owner: type | None = None

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.value) or ""

    @property
    def own(self) -> str:
        """The example in the docstring; empty if there is none."""
        found = _EXAMPLE.search(self.doc)
        return "" if found is None else textwrap.dedent(found["program"]).strip()

    @property
    def around(self) -> str:
        """The example of its class, unless its own is for servers, which is whole."""
        found = _EXAMPLE.search(self.doc)
        if found is None or found["servers"] or self.owner is None:
            return ""
        return Member(name=self.owner.__name__, value=self.owner).own

    @property
    def program(self) -> str:
        """The example as a whole program: that of a method in place of the dots of its class's, or after it."""
        own, around = self.own, self.around
        if not own or not around:
            return own
        if "async def" not in around + own:  # a blocking twin of what the example awaits
            own = re.sub(r"\b(?:await|async) ", "", own)
        if self.continues:
            return f"{around}\n{own}"
        return _HOLE.sub(lambda hole: textwrap.indent(own, hole[1]), around, count=1)

    @property
    def continues(self) -> bool:
        """Its example goes on where that of its class ends."""
        return bool(self.own and self.around) and not _HOLE.search(self.around)

    @property
    def on_servers(self) -> bool:
        return "redis://" in self.program or 'cluster("process"' in self.program


def examples(*, on_servers: bool) -> list[str]:
    """The programs that the examples are; what continues one class's is one program."""
    kept = [member for member in members() if member.program and member.on_servers is on_servers]
    parts: dict[str, list[str]] = {}
    for member in kept:
        first = member.around if member.continues else member.program
        parts.setdefault(first, []).extend([member.own] if member.continues else [])
    return sorted("\n".join([first, *rest]) for first, rest in parts.items())


def members() -> list[Member]:
    """Everything public, each thing once."""
    found = {name: Member(name=name, value=import_module(name)) for name in PUBLIC}
    for module in PUBLIC:
        for name in import_module(module).__all__:
            value = getattr(import_module(module), name)
            if not isinstance(value, ModuleType):
                found[f"{value.__module__}.{name}"] = Member(name=name, value=value)
    waiting = list(found.values())
    while waiting:
        member = waiting.pop()
        for each in [*members_of(member), *_led_to(member)]:
            key = f"{each.owner or each.value.__module__}.{each.name}"
            if key not in found:
                found[key] = each
                waiting.append(each)
    return list(found.values())


def members_of(member: Member, *, ours: str = "zonelab.") -> Iterator[Member]:
    """The methods and properties of a class that are public and from modules whose names begin with ``ours``."""
    kind = member.value
    if not inspect.isclass(kind):
        return
    for name, value in inspect.getmembers(kind):
        code = value.fget if isinstance(value, property) else value
        is_ours = inspect.isroutine(code) and (getattr(code, "__module__", None) or "").startswith(ours)
        if is_ours and not name.startswith("_") and not _is_step(code):
            yield Member(name=f"{kind.__name__}.{name}", value=value, owner=kind)


def _is_step(code: object) -> bool:
    """One of those of a state machine, which Hypothesis takes."""
    return any(hasattr(code, f"hypothesis_stateful_{kind}") for kind in ("rule", "initialize_rule", "invariant"))


def _led_to(member: Member) -> Iterator[Member]:
    """The classes of the face that a function, a method or a block gives."""
    kind = member.value
    if inspect.isclass(kind):
        codes = [getattr(kind, name) for name in ("__enter__", "__aenter__") if hasattr(kind, name)]
    else:
        codes = [kind.fget if isinstance(kind, property) else kind]
        codes += get_overloads(kind) if inspect.isroutine(kind) else []
    for code in codes:
        told = str(getattr(code, "__annotations__", {}).get("return", ""))
        for word in re.findall(r"\w+", told):
            if word in FACE:
                yield Member(name=word, value=FACE[word])


def _face() -> dict[str, type]:
    names = [f"zonelab._face.{each.name}" for each in iter_modules(import_module("zonelab._face").__path__)]
    classes = [kind for name in names for _, kind in inspect.getmembers(import_module(name), inspect.isclass)]
    return {kind.__name__: kind for kind in classes if kind.__module__ in names and not kind.__name__.startswith("_")}


FACE = _face()


def lacks(member: Member) -> list[str]:
    """Return what is missing in the docstring of ``member``."""
    value, doc = member.value, _EXAMPLE.sub("", member.doc)
    if not doc:
        return [f"{member.name}: no docstring"]
    sections = dict(_SECTION.findall(doc))
    explained = sections.get("Args", "") if inspect.isroutine(value) else doc
    place = r"^ +{}:" if inspect.isroutine(value) else r"\b{}\b"
    wrong = [
        f"{member.name}: no {word!r}" for word in _words(value) if not re.search(place.format(word), explained, re.M)
    ]
    if inspect.isroutine(value) and inspect.signature(value).return_annotation not in (None, "None"):
        says = "Returns" in sections or re.match(r"Return\b", doc)
        wrong += [] if says else [f"{member.name}: not what it returns"]
    if re.search(r"\b[Rr]aises ``", _SECTION.sub("", doc)):
        wrong.append(f"{member.name}: an error outside of Raises")
    needs = NEED_NO_EXAMPLE.keys().isdisjoint((member.name, member.name.rpartition(".")[2]))
    return wrong + ([f"{member.name}: no example"] if needs and not member.program else [])


def _words(value: Any) -> list[str]:
    """The names that a docstring has to explain: parameters, fields, and members of an enumeration."""
    if inspect.isclass(value):
        if issubclass(value, Enum):
            return [str(each.value) for each in value]
        return [field.name for field in fields(value)] if is_dataclass(value) else []
    if not inspect.isroutine(value):
        return []
    return [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]


def names() -> dict[str, Any]:
    """Return the names that an example may use without importing them: the public ones."""
    found: dict[str, Any] = {}
    for module in ("zonelab.runs", "zonelab.queues", "zonelab.testing", "zonelab"):
        public = import_module(module)
        found |= {name: getattr(public, name) for name in public.__all__ if name not in ("open", "open_ordered")}
    return found


def run_example(program: str, request: Any) -> None:
    """Run ``program``, and the tests in it. What it prints must be what stands behind its calls of ``print``."""
    printed: list[str] = []
    given = {**names(), "print": lambda *words: printed.append(" ".join(map(str, words)))}
    with redirect_stdout(StringIO()):
        exec(compile(program, "<example>", "exec"), given)
        for name, value in list(given.items()):
            if name.startswith("test_"):
                value(**({"request": request} if "request" in inspect.signature(value).parameters else {}))
            elif name.startswith("Test") and issubclass(value, TestCase):
                value().runTest()
    told = _PRINTED.findall(program)
    assert not told or printed == told, "\n".join([program, "printed:", *printed])
