"""``QueueMachine.TestCase``: a bounded search, a bounded shrink, and a file of what was found, to be replayed."""

import inspect
import os
import re
import secrets
import sys
import unittest
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import hypothesis
from hypothesis import HealthCheck, reproduce_failure, seed, settings
from hypothesis.errors import DidNotReproduce
from hypothesis.internal.conjecture import engine
from hypothesis.reporting import current_reporter, with_reporter
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from zonelab.analysis.yaml_text import write_yaml
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.errors import NotAccepted

EXAMPLES = 100
STEPS = 30
_SLOW = "WARNING: Hypothesis has spent more than five minutes"
FOLDER = Path("runs/properties")
_BLOB = re.compile(r"@reproduce_failure\('[^']*', b'([^']*)'\)")


class BudgetedTestCase:
    """A ``unittest.TestCase`` of each machine, always the same one, so that its ``settings`` can be set."""

    def __init__(self) -> None:
        self._made: WeakKeyDictionary[type[BudgetedMachine], type[unittest.TestCase]] = WeakKeyDictionary()

    def __get__(self, _: object, machine: "type[BudgetedMachine]") -> type[unittest.TestCase]:
        if machine not in self._made:
            self._made[machine] = _test_case(machine)
        return self._made[machine]


class BudgetedMachine(RuleBasedStateMachine):
    """A state machine whose ``TestCase`` keeps what it finds.

    ``shrink_s``: how long ``TestCase`` may look for a shorter story of a failure. ``level``: is recorded with it.
    """

    level: ClassVar[Level] = Level.DC_QUORUM
    shrink_s: ClassVar[float] = 20.0
    TestCase = BudgetedTestCase()  # type: ignore[assignment]


def _test_case(machine: type[BudgetedMachine]) -> type[unittest.TestCase]:
    chosen = settings(
        deadline=None, suppress_health_check=list(HealthCheck), max_examples=EXAMPLES, stateful_step_count=STEPS
    )

    def search(case: Any) -> None:
        run_within_budget(machine, settings=case.settings)

    names = {"settings": chosen, "runTest": search, "is_hypothesis_test": True, "__module__": machine.__module__}
    return type(f"{machine.__name__}TestCase", (unittest.TestCase,), names)


def run_within_budget(machine: type[BudgetedMachine], *, settings: settings) -> None:
    """Search and shrink; the failure that is raised says how it was found, and which file has it."""
    forced = hypothesis.core.global_force_seed
    number = secrets.randbelow(2**32) if forced is None else forced
    try:
        with _shrinking_at_most(machine.shrink_s):
            run_state_machine_as_test(seed(number)(_copy(machine)), settings=_told(settings))
    except Exception as error:
        if found := _BLOB.search("\n".join(getattr(error, "__notes__", ()))):
            error.add_note(_kept(machine, error, settings, number=number, blob=found[1]))
        raise


def _told(chosen: settings) -> settings:
    return settings(chosen, print_blob=True, report_multiple_bugs=False)


@contextmanager
def _shrinking_at_most(length_s: float) -> Iterator[None]:
    """Hypothesis has no setting for this: it shrinks for up to five minutes, and warns when it ends earlier."""
    before = engine.MAX_SHRINKING_SECONDS
    engine.MAX_SHRINKING_SECONDS = length_s  # type: ignore[assignment]
    reporter = current_reporter()
    try:
        with with_reporter(lambda value: None if str(value).startswith(_SLOW) else reporter(value)):
            yield
    finally:
        engine.MAX_SHRINKING_SECONDS = before


def _copy(machine: type[BudgetedMachine]) -> type[BudgetedMachine]:
    """A class to which decorators of Hypothesis may add what is of one run only."""
    return type(machine.__name__, (machine,), {"__module__": machine.__module__})


def _kept(machine: type[BudgetedMachine], error: Exception, chosen: settings, *, number: int, blob: str) -> str:
    """Write the file; what is said of it and of the settings."""
    folder = Path.cwd() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{machine.__name__}.yaml"
    content = {
        "machine": machine.__name__,
        "file": os.path.relpath(inspect.getfile(machine), folder),
        "fails": _first_line(error),
        "level": str(machine.level),
        "seed": number,
        "steps": chosen.stateful_step_count,
        "examples": chosen.max_examples,
        "zonelab": version("zonelab"),
        "hypothesis": hypothesis.__version__,
        "choices": blob,
    }
    path.write_text(write_yaml(content), encoding="utf-8")
    shown = ", ".join(
        f"{name} {content[name]}" for name in ("seed", "level", "steps", "examples", "zonelab", "hypothesis")
    )
    return f"zonelab: {shown}; again: zonelab replay {os.path.relpath(path)}"


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def replay_machine(path: Path, content: Mapping[str, Any]) -> Exception | None:
    """Run the steps of ``path``, which says ``content``, again; how they fail, or None. Raises ``NotAccepted``."""
    if content["hypothesis"] != hypothesis.__version__:
        raise NotAccepted(
            f"{path}: got hypothesis {content['hypothesis']}; accepted: {hypothesis.__version__}, as installed"
        )
    machine = _loaded((path.parent / content["file"]).resolve(), content["machine"])
    again = reproduce_failure(content["hypothesis"], content["choices"].encode())(_copy(machine))
    chosen = settings(deadline=None, database=None, stateful_step_count=content["steps"])
    try:
        run_state_machine_as_test(again, settings=_told(chosen))
    except DidNotReproduce:
        return None
    except Exception as error:
        return error
    return None


def same_failure(content: Mapping[str, Any], error: Exception) -> bool:
    return bool(_first_line(error) == content["fails"])


def _loaded(file: Path, name: str) -> type[BudgetedMachine]:
    spec = spec_from_file_location(file.stem, file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise NotAccepted(f"file: got {file}; accepted: the Python file of the machine {name}")
    module = module_from_spec(spec)
    sys.modules[file.stem] = module
    sys.path.append(str(file.parent))  # last, as its other modules may be called as one of ours is
    spec.loader.exec_module(module)
    machine: type[BudgetedMachine] | None = getattr(module, name, None)
    if machine is None:
        raise NotAccepted(f"machine: got {name}; accepted: a class of {file}")
    return machine
