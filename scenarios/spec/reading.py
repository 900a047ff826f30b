"""Reading scenario files: the shipped library, files, overrides, and errors as lines that a user can act upon."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from zonelab.analysis.near_names import did_you_mean
from zonelab.analysis.yaml_text import TEXT_MAX, NotYaml, read_yaml, write_yaml
from zonelab.cluster.regular_file import read_regular
from zonelab.scenarios.errors import NotAccepted, ScenarioError
from zonelab.scenarios.faults.catalogue import CLASSES, ONLY_UP
from zonelab.scenarios.spec.engines import ENGINES, unknown_engine
from zonelab.scenarios.spec.library import LIBRARY, library_names
from zonelab.scenarios.spec.queue_settings import QueueSettings
from zonelab.scenarios.spec.rules import path_of, problems, with_fitted_faults
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.spec.traces import digests, found_beside, kept_beside

RESOLVED_NAME = "scenario.yaml"

_STEP = re.compile(r"\.?([A-Za-z_][A-Za-z0-9_-]*)|\.(\d{1,9})|\[(\d{1,9})\]|\[['\"]?([^\]'\"]+)['\"]?\]")

_WRONG_TYPE = ("_type", "_parsing", "_from_float")
_ACCEPTED = {
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "string": "a string",
    "tuple": "a list",
    "dict": "a mapping",
    "model": "a mapping",
}


def load_scenario(source: str, *, overrides: Sequence[str] = (), draws_faults: bool = False) -> Scenario:
    """The scenario called ``source`` in the library, or in the file ``source``, with ``path=value`` overrides.

    ``draws_faults``: its runs draw the places of faults, so those of the file fit themselves to a topology that an
    override gives. Raises ``ScenarioError``.
    """
    path = _locate(source)
    document = found_beside(_read(path), path.parent)
    changed = [_override(document, text) for text in overrides]
    return _validate(document, str(path), changed, fits=draws_faults and any(map(_of_topology, changed)))


def has_programs(source: str) -> bool:
    """Return whether the file of a scenario has programs of the user's own; nothing else of it is looked at.

    Raises ``ScenarioError`` if it cannot be read.
    """
    return bool(_read(_locate(source)).get("programs"))


def scenario_of(document: Mapping[str, Any], *, source: str, overrides: Sequence[str] = ()) -> Scenario:
    """Return the scenario that ``document`` says, with ``path=value`` overrides.

    Errors name ``source`` as its file. Raises ``ScenarioError``.
    """
    content = deepcopy(dict(document))
    changed = [_override(content, text) for text in overrides]
    return _validate(content, source, changed)


def dump_scenario(scenario: Scenario) -> str:
    """The whole scenario as YAML, every default written out; ``load_scenario`` reads it back equal."""
    return write_yaml(scenario.model_dump(mode="json"))


def identity_of(scenario: Scenario) -> str:
    """Return a text that differs whenever a run of ``scenario`` could: all of it, and what its traces hold now.

    Raises ``OSError`` if a trace cannot be read any more.
    """
    document = scenario.model_dump(mode="json")
    return "\n".join([write_yaml(document), *digests(document)])


def write_scenario(scenario: Scenario, path: Path) -> None:
    """Write what ``dump_scenario`` says into ``path``, with copies of the traces that it names in a folder beside it.

    So it can be run from anywhere, and be taken elsewhere. Raises ``OSError``.
    """
    path.write_text(write_yaml(kept_beside(scenario.model_dump(mode="json"), path.parent)), encoding="utf-8")


def _locate(source: str) -> Path:
    if source in library_names():
        return LIBRARY / f"{source}.yaml"
    path = Path(source)
    if path.is_file():
        return path
    names = library_names()
    accepted = f"{', '.join(names)}, or the path of a scenario file"
    raise ScenarioError([f"{source}: no such scenario{did_you_mean(source, names)}; accepted: {accepted}"])


def _read(path: Path) -> dict[str, Any]:
    try:
        document = read_yaml_file(path)
    except NotAccepted as error:
        raise ScenarioError([str(error)]) from None
    if not isinstance(document, dict):
        raise ScenarioError([f"{path}: got {_short(document)}; accepted: a mapping with {_fields(Scenario)}"])
    return document


def read_yaml_file(path: Path) -> Any:
    """The value that the YAML in ``path`` says. Raises ``NotAccepted``, which names the file."""
    try:
        return read_yaml(read_regular(path, bytes_max=TEXT_MAX).decode("utf-8-sig"))
    except OSError as error:
        raise NotAccepted(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise NotAccepted(f"{path}: is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except ValueError as error:  # NotYaml among them
        raise NotAccepted(f"{path}: {error}") from None


def _override(document: dict[str, Any], text: str) -> str:
    """Put one ``path=value`` into ``document`` and return the path as errors will name it."""
    path, equals, value_text = text.partition("=")
    steps = _steps(path)
    if not equals or not steps:
        raise ScenarioError([f"--set {text}: accepted: PATH=VALUE, e.g. load.duration_s=5 or faults[0].zone=b"])
    try:
        value = read_yaml(value_text)
    except NotYaml as error:
        torn = value_text[:1] == "{" and "not valid YAML" in str(error)
        quoted = f"""; accepted for a text with braces: '{path}="{value_text}"'""" if torn else ""
        raise ScenarioError([f"--set {text}: {error}{quoted}"]) from None
    node: Any = document
    for depth, step in enumerate(steps):
        _check_step(text, node, steps[:depth], step, last=depth == len(steps) - 1)
        if depth == len(steps) - 1:
            _assign(node, step, value)
        else:
            node = _descend(node, step, empty=[] if isinstance(steps[depth + 1], int) else {})
    return path_of(steps)


def _descend(node: Any, step: str | int, *, empty: Any) -> Any:
    if isinstance(node, dict) and node.get(step) is None:
        node[step] = empty
    return node[step]


def _assign(node: Any, step: str | int, value: Any) -> None:
    if isinstance(node, list) and step == len(node):
        node.append(value)
    else:
        node[step] = value


def _check_step(text: str, node: Any, parents: Sequence[str | int], step: str | int, *, last: bool) -> None:
    where = path_of(parents) or "the scenario"
    if isinstance(node, list):
        limit = len(node) if last else len(node) - 1
        if not isinstance(step, int) or step > limit:
            accepted = f"an index 0..{limit}" if limit >= 0 else "nothing, it is empty"
            raise ScenarioError([f"--set {text}: {where} is a list, got {step!r}; accepted: {accepted}"])
    elif not isinstance(node, dict):
        raise ScenarioError([f"--set {text}: {where} is {_short(node)} and has no {step!r}"])


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None or match.end() == position:
            return []
        name, dotted, index, key = match.groups()
        number = dotted or index
        steps.append(int(number) if number is not None else name or key)
        position = match.end()
    return steps


def _of_topology(path: str) -> bool:
    return path.split(".")[0] == "topology"


def _validate(document: Mapping[str, Any], file: str, overridden: Sequence[str], *, fits: bool = False) -> Scenario:
    try:
        scenario = Scenario.model_validate(document)
    except ValidationError as error:
        found = dict.fromkeys(explained(detail) for detail in error.errors())
    else:
        wrong = problems(scenario)
        if fits and any(problem.path.startswith("faults[") for problem in wrong):
            scenario = with_fitted_faults(scenario)
            wrong = problems(scenario)
        found = dict.fromkeys((problem.path, problem.text) for problem in wrong)
        if not found:
            return scenario
    raise ScenarioError([f"{_source(path, file, overridden)}: {path}: {text}" for path, text in found])


def _source(path: str, file: str, overridden: Sequence[str]) -> str:
    """A value that came from the command line is not in the file; say where it is."""
    for name in overridden:
        if path == name or path.startswith((f"{name}.", f"{name}[")) or name.startswith((f"{path}.", f"{path}[")):
            return "--set"
    return file


def explained(detail: ErrorDetails) -> tuple[str, str]:
    steps = _without_tags(detail["loc"])
    path = path_of(steps) or "the scenario"
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "union_tag_invalid" and path == "queue":
        return "queue.engine", unknown_engine(context["tag"])
    if kind == "extra_forbidden":
        model = _model_at(detail["loc"][:-1])
        nearest = _in_a_section(steps) or did_you_mean(str(steps[-1]), model.model_fields)
        return path, f"unknown field{nearest}, got {_short(value)}; accepted fields: {_fields(model)}"
    if kind == "missing":
        return path, "missing; it has no default"
    if kind == "value_error":
        return path, str(context["error"])
    if kind == "union_tag_invalid":
        tag = context["tag"]
        why = f" ({ONLY_UP[tag].only_up})" if tag in ONLY_UP else did_you_mean(tag, CLASSES)
        return f"{path}.kind", f"got {tag!r}{why}; accepted: {', '.join(CLASSES)}"
    if kind == "union_tag_not_found":
        return f"{path}.kind", f"missing; accepted: {', '.join(CLASSES)}"
    if kind in ("enum", "literal_error"):
        expected = context["expected"].replace(" or ", ", ").replace("'", "")
        return path, f"got {_short(value)}{did_you_mean(str(value), expected.split(', '))}; accepted: {expected}"
    accepted = _ACCEPTED.get(kind.partition("_")[0]) if kind.endswith(_WRONG_TYPE) else None
    return path, f"got {_short(value)}; accepted: {accepted or detail['msg'].removeprefix('Input should be ')}"


def _in_a_section(steps: list[int | str]) -> str:
    """Return a hint ("did you mean …?") for a section's field that stands outside of all sections; else nothing."""
    if len(steps) > 1:
        return ""
    sections = ((name, _section_in(field.annotation)) for name, field in Scenario.model_fields.items())
    named = [f"{name}.{steps[0]}" for name, model in sections if model is not None and steps[0] in model.model_fields]
    return f" (did you mean {' or '.join(named)}?)" if named else ""


def _without_tags(location: tuple[int | str, ...]) -> list[int | str]:
    """Pydantic puts a fault's kind and a queue's engine into the location: ``faults, 1, kill, zone``."""
    fault = len(location) > 2 and location[0] == "faults" and location[2] in CLASSES
    queue = len(location) > 1 and location[0] == "queue" and location[1] in ENGINES
    tag = 2 if fault else 1 if queue else None
    return [step for position, step in enumerate(location) if position != tag and step != "[key]"]


def _model_at(location: tuple[int | str, ...]) -> type[BaseModel]:
    model: type[BaseModel] = Scenario
    for step in location:
        if isinstance(step, str) and step in CLASSES:
            model = CLASSES[step]
        elif isinstance(step, str) and model is QueueSettings:
            model = ENGINES[step].settings
        elif isinstance(step, str) and step in model.model_fields:
            model = _section_in(model.model_fields[step].annotation) or model
    return model


def _section_in(annotation: Any) -> type[BaseModel] | None:
    """The section of a field, also of one that may be left out, or of a mapping of sections."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = [section for one in get_args(annotation) if (section := _section_in(one)) is not None]
    return inner[0] if len(inner) == 1 else None


def _fields(model: type[BaseModel]) -> str:
    return ", ".join(model.model_fields)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
