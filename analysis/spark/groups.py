"""Which runs may be added up: those that differ in nothing but their seed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.settings import differing, settings_of, value_text

_NAMED_MAX = 6
_CHARACTERS_MAX = 40


def grouped(runs: Sequence[RunDirectory]) -> tuple[list[str], dict[str, str]]:
    """The setting of each run, called by its level, and by a number where a level has several; and what they differ in.

    Raises ``RunError``.
    """
    return grouped_settings([settings_of(run) for run in runs])


def grouped_settings(settings: Sequence[Mapping[str, Any]]) -> tuple[list[str], dict[str, str]]:
    """``grouped`` of runs of which nothing but the settings is at hand."""
    unlike = differing(settings)
    values = [tuple(value_text(one.get(name)) for name in unlike) for one in settings]
    several = _several(settings, values)
    names: dict[tuple[str, ...], str] = {}
    names_apart: dict[str, str] = {}
    for one, value in zip(settings, values, strict=True):
        if value not in names:
            level = str(one["level"])
            number = 1 + sum(name.partition(" ")[0] == level for name in names.values())
            names[value] = f"{level} #{number}" if several[level] else level
            names_apart[names[value]] = _differences(one, settings, [name for name in unlike if name != "level"])
    return [names[value] for value in values], names_apart if len(names_apart) > 1 else {}


def _several(settings: Sequence[Mapping[str, Any]], values: Sequence[tuple[str, ...]]) -> dict[str, bool]:
    """By level, whether it has more than one setting."""
    pairs = {(str(one["level"]), value) for one, value in zip(settings, values, strict=True)}
    levels = [level for level, _ in pairs]
    return {level: levels.count(level) > 1 for level in levels}


def _differences(one: Mapping[str, Any], settings: Sequence[Mapping[str, Any]], unlike: Sequence[str]) -> str:
    return ", ".join(_shown(one, settings, unlike))


def _shown(one: Mapping[str, Any], settings: Sequence[Mapping[str, Any]], unlike: Sequence[str]) -> Iterator[str]:
    for name in unlike[:_NAMED_MAX]:
        yield f"{name.removeprefix('scenario.yaml ')} {_value(one.get(name), [other.get(name) for other in settings])}"
    if len(unlike) > _NAMED_MAX:
        yield f"and {len(unlike) - _NAMED_MAX} more (zonelab compare names them)"


def _value(value: Any, all_values: Sequence[Any]) -> str:
    """A value that is too long to be shown has a number."""
    text = value_text(value)
    if len(text) <= _CHARACTERS_MAX and not text.startswith(("[", "{")):
        return text
    return f"#{list(dict.fromkeys(map(value_text, all_values))).index(text) + 1}"
