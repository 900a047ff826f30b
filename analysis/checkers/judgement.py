"""Judgement: the cases that a checker found, and the one rule by which counts of classes become a verdict."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields
from enum import Enum
from typing import Any, ClassVar, Literal, Self

from zonelab.analysis.case_class import CaseClass

Valid = Literal[True, False, "unknown"]
"""Validity as ``verdict.json`` and programs have it."""

FIRST_CASES = 20
"""Cases of a class that the verdict lists at most; a table beside it has all of them."""


class Validity(Enum):
    """The validity of a run. The value is that of ``verdict.json``."""

    VALID = True
    INVALID = False
    UNKNOWN = "unknown"

    @property
    def word(self) -> str:
        """The name of the validity as it is printed."""
        return self.name.lower()


def judge(*, broken: Collection[object], doubts: Collection[object]) -> Valid:
    """Return False if anything is broken, else "unknown" if there is a doubt, else True.

    The order true < unknown < false is Jepsen's: proof of a violation is worth more than a gap in the evidence.
    """
    if broken:
        return False
    return "unknown" if doubts else True


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One case of a class; what does not apply is empty.

    ``message_id``, or the ``key`` of a workload: what it concerns. ``index``: the event that shows it (for a missing
    delivery, the push), of a property of order one in the table of order; None if it was seen in an end state.
    ``ops``: the operations that show it (``op_id``). ``delivery``: the pop concerned. ``zone``: of classes that are
    counted by zone. ``what``: the sort of case within a property of order; ``group``, ``partition``, ``offset``: where
    in the log, ``-`` for none.
    """

    message_id: str = ""
    key: str = ""
    index: int | None = None
    ops: tuple[int, ...] = ()
    delivery: int | None = None
    zone: str | None = None
    what: str = ""
    group: str = ""
    partition: str = ""
    offset: int | None = None
    detail: str = ""

    @property
    def subject(self) -> str:
        """The message or the key, or the place in the log where no event names a message."""
        return self.message_id or (f"key {self.key}" if self.key else self._place)

    @property
    def _place(self) -> str:
        """The place in the log: of what concerns no single offset, as a cursor that fell, the partition alone."""
        return self.partition if self.offset is None or self.offset < 0 else f"{self.partition} at {self.offset}"

    @property
    def operation_index(self) -> int | None:
        """``index``, if it is one of the history of operations."""
        return None if self.what else self.index

    @property
    def words(self) -> str:
        """Return what there is to say of it, with its place in the log if it has one that is not its subject."""
        where = ", ".join(filter(None, [self.what, "" if self.subject == self._place else self._place]))
        return ": ".join(filter(None, [where, self.detail]))

    def to_json(self) -> dict[str, Any]:
        """Return what applies to the case."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "", ())}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the case of ``value``, which ``to_json`` made."""
        return cls(**{**value, "ops": tuple(value.get("ops", ()))})


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictSection:
    """The part of a verdict that one checker answers for.

    ``forbid``: the classes that must have no cases. ``counts``: cases of every class. ``cases``: the first 20 of each.
    ``doubts``: why the evidence has gaps, in words. ``not_judged``: classes for which there are no means; their counts
    are 0 and say nothing.
    """

    title: ClassVar[str] = ""
    classes: ClassVar[type[CaseClass]] = CaseClass
    parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """By field, how its value is made again from JSON."""

    forbid: tuple[str, ...]
    counts: Mapping[str, int]
    cases: Mapping[str, tuple[Case, ...]]
    doubts: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()

    @property
    def violated(self) -> tuple[CaseClass, ...]:
        """The forbidden classes that have cases."""
        return tuple(name for name in self.shown if name in self.forbid)

    @property
    def valid(self) -> Valid:
        """The validity of this part."""
        return judge(broken=self.violated, doubts=self.doubts)

    @property
    def shown(self) -> tuple[CaseClass, ...]:
        """The classes that have cases, forbidden or not."""
        return tuple(name for name in self.classes if self.counts[name])

    @property
    def violations(self) -> tuple[str, ...]:
        """A sentence for each class of ``violated``."""
        return tuple(f"{self.counts[name]} {name.words}: {name.summary}" for name in self.violated)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not valid, in words."""
        return (*self.violations, *self.doubts)

    @property
    def begun(self) -> int:
        """The number of messages pushed, or of operations begun; 0 for what another section counts."""
        return 0

    def to_json(self) -> dict[str, Any]:
        """Return the section as ``verdict.json`` has it, with what follows from its fields."""
        cases = {name: [one.to_json() for one in found] for name, found in self.cases.items()}
        return {"valid": self.valid, **asdict(self), "cases": cases}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the section of ``value``; a class that it does not have is not judged.

        Raises ``KeyError`` or ``TypeError`` if it is no section of this kind.
        """
        known = {one.name for one in fields(cls)} & set(value)
        parts = {name: cls.parts.get(name, _unchanged)(value[name]) for name in known}
        unknown = [str(name) for name in cls.classes if name not in value["counts"]]
        parts["counts"] = {**dict.fromkeys(unknown, 0), **value["counts"]}
        parts["cases"] = {name: tuple(map(Case.from_json, cases)) for name, cases in value["cases"].items()}
        parts |= {name: tuple(value[name]) for name in ("forbid", "doubts")}
        parts["not_judged"] = (*value["not_judged"], *unknown)
        return cls(**parts)


def _unchanged(value: Any) -> Any:
    return value
