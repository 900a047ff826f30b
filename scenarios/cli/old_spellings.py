"""Options that have another name now: the old spellings work until 1.0, with a line on stderr."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from scenarios.arms import Arm, On, ZoneKind
from scenarios.errors import NotAccepted

_ONE_RUN = ("run", "replay", "demo")
_RENAMED: Mapping[str, Mapping[str, str]] = {
    **{verb: {"--runs": "--dir"} for verb in _ONE_RUN},
    "up": {"--runs": "--dir", "--zones-kind": "--on"},
    "matrix": {"--files": "--dir"},
}
_JOINED = ("--arm", "--zones")
"""Of one run, ``--on`` says what these two said together."""


def in_new_spelling(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """``arguments`` as the options are called now, and what has changed, as ``--old is now --new``.

    Raises ``NotAccepted`` if they contradict each other.
    """
    if not arguments:
        return [], []
    verb, rest = arguments[0], list(arguments[1:])
    joined: dict[str, str] = {}
    if verb in _ONE_RUN:
        rest, joined = _without(rest, _JOINED)
    new, changed = list(rest), []
    for position, word in enumerate(rest):
        name, equals, value = word.partition("=")
        now = _RENAMED.get(verb, {}).get(name)
        if now is not None:
            new[position] = now + equals + value
            changed.append(f"{name} is now {now}")
    if joined:
        on = _on(joined)
        new += ["--on", on]
        changed.append(f"{' '.join(chain.from_iterable(joined.items()))} is now --on {on}")
    return [verb, *new], changed


def _without(words: Sequence[str], options: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """``words`` less ``options`` and their values, and those values."""
    kept: list[str] = []
    values: dict[str, str] = {}
    left: Iterator[str] = iter(words)
    for word in left:
        name, equals, value = word.partition("=")
        if name in options:
            values[name] = value if equals else next(left, "")
        else:
            kept.append(word)
    return kept, values


def _on(joined: Mapping[str, str]) -> str:
    arm, zones = joined.get("--arm", Arm.REAL), joined.get("--zones", ZoneKind.PROCESS)
    if arm == Arm.SIM and zones == ZoneKind.DOCKER:
        raise NotAccepted(f"--zones: got {zones}; accepted with --arm sim: none, since its zones are simulated")
    if arm == Arm.SIM:
        return On.SIM
    return zones if arm == Arm.REAL else arm
