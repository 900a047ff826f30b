"""Goal: the public modules are light, whole and documented. Method: an interpreter of its own, and their
``__all__``.
"""

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

PUBLIC = ("zonelab", "zonelab.queues", "zonelab.testing", "zonelab.runs")
HEAVY = ("numpy", "scipy", "pandas", "pyarrow", "matplotlib", "pydantic")


def loaded_by(program):
    shown = f"{program}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    ended = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return ended.stdout.split()


def test_importing_the_public_modules_loads_nothing_heavy():
    assert loaded_by(f"import {', '.join(PUBLIC)}") == []
    assert loaded_by("import zonelab.runs\nzonelab.runs.Run") != []


def test_a_program_with_a_queue_needs_no_tables():
    assert loaded_by("from zonelab import Message, connect, queues\nqueues.DelayQueue") == ["pydantic"]


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_there_and_says_what_it_is(module):
    public = import_module(module)
    undocumented = []
    for name in public.__all__:
        told = getattr(public, name)
        if not inspect.getdoc(told):
            undocumented.append(name)
        if inspect.isclass(told) and told.__module__.startswith("zonelab._face."):
            own = [each for each, _ in inspect.getmembers(told, inspect.isfunction) if not each.startswith("_")]
            undocumented += [f"{name}.{each}" for each in own if not inspect.getdoc(getattr(told, each))]
    assert undocumented == []


@pytest.mark.parametrize("module", PUBLIC)
def test_a_name_that_is_not_there_is_an_attribute_error(module):
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nothing'"):
        _ = import_module(module).nothing
