"""Faults in words, as ``zonelab fault`` takes them: ``kill b --restart warm --for 5s``; dashes may be left out."""

import shlex
from collections.abc import Sequence
from typing import Any

from zonelab.analysis.near_names import did_you_mean
from zonelab.analysis.yaml_text import NotYaml, read_yaml
from zonelab.scenarios.durations import parse_duration_s
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.faults.catalogue import BESIDE_PROGRAMS, CLASSES, amounts_of
from zonelab.scenarios.faults.fault import Fault

FIRST_AT_S = 1.0
"""A fault that does not say when begins so long after the load, or after the fault before it has ended."""

FOR_S = 5.0
"""A fault that does not say so lasts so long."""

_ALL = "all"


def faults_in_words(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the faults of a scenario that ``texts`` say: KIND TARGET [AMOUNT] [OPTION [VALUE]]… [at TIME] [for TIME].

    Raises ``NotAccepted``.
    """
    faults: list[dict[str, Any]] = []
    for text in texts:
        free_s = max((one["at_s"] + one["for_s"] for one in faults), default=0.0)
        faults.append(_fault(text, at_s=free_s + FIRST_AT_S))
    return faults


def _fault(text: str, *, at_s: float) -> dict[str, Any]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise NotAccepted(f"--fault: got {text!r}, with {str(error).lower()}; accepted: words") from error
    if len(words) < 2:
        raise NotAccepted(f"--fault: got {text!r}; accepted: KIND TARGET, such as 'kill b for 5s'")
    kind, target, *rest = words
    if kind not in CLASSES:
        near = did_you_mean(kind, BESIDE_PROGRAMS)
        raise NotAccepted(f"--fault: {text!r}: got kind {kind!r}{near}; accepted: {', '.join(BESIDE_PROGRAMS)}")
    one = CLASSES[kind]
    fields = amounts_of(one)
    fault: dict[str, Any] = {"kind": kind, "at_s": at_s, "for_s": FOR_S, **_place(one, target)}
    if one.amount_field in fields and rest and rest[0].lstrip("-").replace("-", "_") not in ("at", "for", *fields):
        fault[str(one.amount_field)] = _value(one, str(one.amount_field), rest.pop(0))
    while rest:
        word = rest.pop(0)
        name = word.lstrip("-").replace("-", "_")
        on_or_off = name in fields and fields[name].annotation is bool
        if on_or_off and not (rest and isinstance(_value(one, name, rest[0]), bool)):
            fault[name] = True
            continue
        if not rest:
            raise NotAccepted(f"--fault: {text!r}: {word!r} has no value; accepted: OPTION VALUE, at TIME, for TIME")
        value = rest.pop(0)
        if name == "for" or (name == "at" and ("at" not in fields or _is_time(value))):
            fault[f"{name}_s"] = parse_duration_s(value)
        elif name in fields:
            fault[name] = _value(one, name, value)
        else:
            accepted = ", ".join(("at", "for", *fields))
            raise NotAccepted(f"--fault: {text!r}: got {word!r}; accepted: {accepted}")
    return fault


def _is_time(text: str) -> bool:
    try:
        parse_duration_s(text)
    except NotAccepted:
        return False
    return True


def _place(kind: type[Fault], target: str) -> dict[str, str]:
    """Return the field that says where: links are ``a>b``, ``a:b``, those of a zone, or ``all``."""
    if len(kind.where) == 1:
        return {kind.where[0]: target}
    if target == _ALL:
        return {}
    if ">" in target or ":" in target:
        one_way = ">" in target and "one_way" in kind.where
        return {"one_way" if one_way else "link": target}
    return {next(name for name in kind.where if name in ("zone", "isolate")): target}


def _value(kind: type[Fault], name: str, text: str) -> Any:
    try:
        return text if amounts_of(kind)[name].annotation is str else read_yaml(text)
    except NotYaml:
        return text
