"""The settings of a sweep: every combination of the values that ``--vary`` gives, each a scenario of its own."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from zonelab.scenarios.arms import Arm
from zonelab.scenarios.errors import NotAccepted, ScenarioError
from zonelab.scenarios.spec.reading import identity_of, load_scenario
from zonelab.scenarios.spec.scenario import Scenario

_WHOLE = re.compile(r"""\[[^\]]*\]|\{[^}]*\}|"[^"]*"|'[^']*'""")
"""Commas within brackets or quotes belong to a value."""

_NEXT_PATH = re.compile(r" (?=[\w.\[\]]+=)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """``name``: what is varied, as on the command line."""

    name: str
    scenario: Scenario


def own_functions(settings: Sequence[Setting]) -> list[str]:
    """Return the functions of the user's own that runs of ``settings`` call."""
    return [name for one in settings for name in one.scenario.own_functions]


def identities(settings: Sequence[Setting]) -> list[str]:
    """Return a text for each setting, which differs whenever its runs could show something else."""
    return [f"{one.name}\n{identity_of(one.scenario)}" for one in settings]


def lines_of(name: str) -> str:
    """The name of a setting, with a line for each path; a value may have spaces."""
    return _NEXT_PATH.sub("\n", name)


@dataclass(frozen=True, kw_only=True, slots=True)
class VaryOption:
    """One ``--vary``: a path into the scenario and its values."""

    path: str
    values: tuple[str, ...]

    @classmethod
    def parsed(cls, text: str) -> "VaryOption":
        """Raises ``NotAccepted``."""
        path, equals, values_text = text.partition("=")
        kept = _WHOLE.sub(lambda match: match[0].replace(",", "\0"), values_text)
        values = tuple(value.strip().replace("\0", ",") for value in kept.split(","))
        if not (path and equals and all(values)):
            raise NotAccepted(f"--vary {text}: accepted: PATH=VALUE,VALUE,…, e.g. level=DC_ONE,DC_QUORUM")
        if len(set(values)) < len(values):
            raise NotAccepted(f"--vary {path}: got duplicate values {', '.join(values)}; accepted: each value once")
        return cls(path=path, values=values)


def settings_of(
    source: str,
    *,
    vary: Sequence[str],
    overrides: Sequence[str] = (),
    draws_faults: bool = False,
    arm: Arm = Arm.SIM,
) -> tuple[Setting, ...]:
    """Every combination, the last path varying fastest; one setting, the scenario as it is, if nothing is varied.

    ``draws_faults``: as of ``load_scenario``. ``arm``: of all settings.
    Raises ``NotAccepted``, or ``ScenarioError`` if a combination is no valid scenario.
    """
    varied = [VaryOption.parsed(text) for text in vary]
    paths = [one.path for one in varied]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise NotAccepted(f"--vary {twice}: duplicate path; give each once, with all its values")
    combinations = product(*(one.values for one in varied))
    load = partial(load_scenario, source, draws_faults=draws_faults)
    return tuple(_setting(load, [*overrides, f"arm={arm}"], paths, values) for values in combinations)


def _setting(
    load: Callable[..., Scenario], overrides: Sequence[str], paths: Sequence[str], values: Sequence[str]
) -> Setting:
    changed = [f"{path}={value}" for path, value in zip(paths, values, strict=True)]
    try:
        scenario = load(overrides=[*overrides, *changed])
    except ScenarioError as error:
        raise ScenarioError([_as_given(line, changed, paths) for line in error.lines]) from None
    return Setting(name=" ".join(changed) or "as it is", scenario=scenario)


def _as_given(line: str, changed: Sequence[str], paths: Sequence[str]) -> str:
    """An error about what was varied names the option that it was given with."""
    ours = [f"--set {text}:" for text in changed] + [f"--set: {path}" for path in paths]
    return line.replace("--set", "--vary", 1) if line.startswith(tuple(ours)) else line
