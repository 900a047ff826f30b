"""Requests to a cluster that is up: faults, by the kinds of a scenario, and where."""

from enum import StrEnum
from inspect import getdoc
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from pydantic.fields import FieldInfo

from zonelab.analysis.near_names import did_you_mean
from zonelab.cluster.zone import Restart
from zonelab.scenarios.faults.catalogue import CLASSES, UP, amounts_of
from zonelab.scenarios.faults.fault import Fault
from zonelab.scenarios.spec.reading import explained

_TIMES = {"at_s": 0.0, "for_s": 1.0}
"""Times that a model needs; here a fault begins at once and ends when the request says."""


class FaultRequest(BaseModel):
    """A fault of a kind in ``UP``, on ``target``; further fields are those of the kind that say how much.

    ``for_s``: how long, None until somebody ends it.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str
    target: str
    for_s: float | None = Field(default=None, gt=0, le=7 * 86_400)
    _fault: Fault = PrivateAttr()

    @model_validator(mode="after")
    def _complete(self) -> "FaultRequest":
        amounts = dict(self.model_extra or {})
        if self.kind not in UP:
            why = f" ({CLASSES[self.kind].not_up})" if self.kind in CLASSES else did_you_mean(self.kind, UP)
            raise ValueError(f"kind: got {self.kind!r}{why}; accepted: {', '.join(UP)}")
        kind = UP[self.kind]
        fields = amounts_of(kind)
        if unknown := [name for name in amounts if name not in fields]:
            accepted = f"; accepted: {', '.join(fields)}" if fields else ""
            raise ValueError(f"{self.kind} takes no {unknown[0]}{accepted}")
        if kind.amount_field is not None and kind.amount_field not in amounts:
            raise ValueError(f"{self.kind} needs {kind.amount_field}")
        place = {"zone": self.target} if kind.where == ("zone",) else {}
        try:
            self._fault = kind.model_validate({"kind": self.kind, **_TIMES, **place, **amounts})
        except ValidationError as error:
            wrong = map(explained, error.errors(include_url=False))
            raise ValueError("; ".join(f"{path}: {text}" for path, text in wrong)) from None
        return self

    @property
    def fault(self) -> Fault:
        """The fault of a scenario that does the same; its times and, of links, its place mean nothing."""
        return self._fault

    @property
    def label(self) -> str:
        """Return what and where, and how much."""
        return f"{self.kind} {self.target} {self.fault.amount}".rstrip()


def fault_forms() -> list[dict[str, Any]]:
    """Return what a page needs to ask for a fault: of each kind its part, what it does, and its fields."""
    return [
        {
            "kind": kind,
            "part": one.part,
            "about": (getdoc(one) or "").partition("\n\n")[0].replace("\n", " "),
            "fields": [_form_field(name, field) for name, field in amounts_of(one).items()],
        }
        for kind, one in UP.items()
    ]


def _form_field(name: str, field: FieldInfo) -> dict[str, Any]:
    """``value``: the default, None if it has none. ``choices``: the values accepted, if they are few."""
    kind = field.annotation
    choices = list(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else list(get_args(kind))
    value = None if field.is_required() else field.default
    return {"name": name, "about": field.description or "", "value": value, "choices": choices}


def death(target: str, mode: Restart, *, of_coordinator: bool) -> FaultRequest:
    """Return the request that kills what comes back as ``mode`` says."""
    if of_coordinator:
        return FaultRequest(kind="coordinator_crash", target=target)
    if mode is Restart.WIPE:
        return FaultRequest(kind="wipe", target=target)
    amounts: dict[str, Any] = {"restart": mode.value}
    return FaultRequest(kind="kill", target=target, **amounts)
