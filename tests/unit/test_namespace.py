"""Goal: zonelab is one package, and gets along with whatever names a user's own folders have.

Method: the links of ``zonelab``; syntax trees of all files, and of planted ones; programs in a folder of such names.
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import HANGS_S
from support.project_files import FOLDERS, ROOT, project_files

PLANTED = ("tests/unit/test_docs.py", "tests/unit/test_namespace.py", "tests/wheel/test_wheel.py")
"""They show rules of the house what breaks them, or import what must not be there."""

_ANY = "|".join(FOLDERS)
_CODE = re.compile(rf"^\s*(?:import|from) ((?:{_ANY})\b[\w.]*)", re.MULTILINE)
_NAME = re.compile(rf"(?:-m )?((?:{_ANY})(?:\.\w+)+)(?::\w+)?")
_FINDERS = {"PackageLoader", "files", "find_spec", "import_module"}
"""Functions that are given the name of a package."""


def named_by_folder(source: str) -> list[str]:
    """Names of our packages without ``zonelab``: in imports, in strings that are such a name or have imports."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.partition(".")[0] in FOLDERS]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            found += [node.module] * (node.module.partition(".")[0] in FOLDERS)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [*_CODE.findall(node.value), *([name[1]] if (name := _NAME.fullmatch(node.value)) else [])]
            found += [name for name in names if is_module(name)]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in _FINDERS:
            given = [each.value for each in node.args if isinstance(each, ast.Constant)]
            found += [name for name in given if name in FOLDERS]
    return found


def is_module(dotted: str) -> bool:
    """A scenario's field may be called so, too; what a module holds is found by the module."""
    parts = dotted.split(".")
    return len(parts) == 1 or any(ROOT.joinpath(*parts[:2]).with_suffix(end).exists() for end in ("", ".py"))


def test_zonelab_has_a_relative_link_to_each_folder_of_the_product() -> None:
    links = {path.name: os.readlink(path) for path in (ROOT / "zonelab").iterdir() if path.is_symlink()}
    assert links == {name: f"../{name}" for name in FOLDERS}
    assert {name.partition("/")[0] for name in project_files() if name.endswith("/__init__.py")} - {"tests"} == {
        *FOLDERS,
        "zonelab",
    }


def test_nothing_is_imported_by_the_name_of_its_folder() -> None:
    sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in project_files() if name.endswith(".py")}
    found = {name: named_by_folder(text) for name, text in sources.items() if name not in PLANTED}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import engine",
        "import os, engine.ports as ports",
        "def f():\n    from engine.ports import Command",
        "from engine import ports",
        "patch('engine.ports.Command.run')",
        "call(python, '-m', 'engine.ports')",
        "factory = 'engine.ports:make'",
        "run('''\n    from engine.ports import Command\n''')",
        "run('import engine')",
        "PackageLoader('engine')",
        "importlib.import_module('engine')",
    ],
)
def test_a_folder_that_is_imported_by_its_name_is_found(source: str) -> None:
    assert named_by_folder(source)[0].startswith("engine")


@pytest.mark.parametrize("source", ["from zonelab.engine import ports", "from .engine import x", "x = {'engine': 1}"])
def test_other_names_are_left_alone(source: str) -> None:
    assert named_by_folder(source) == []


def hiding(source: str) -> list[int]:
    """Lines of commands with ``-m`` for a Python of ours, which then looks into the current folder first."""
    commands = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.List | ast.Tuple))
    found = []
    for command in commands:
        words = [ast.unparse(one) for one in command.elts]
        if "'-m'" in words and any("executable" in word or "_PYTHON" in word for word in words):
            found += [command.lineno] * ("'-P'" not in words)
    return found


def test_a_module_that_we_start_is_not_looked_for_in_the_current_folder() -> None:
    product = [name for name in project_files() if name.endswith(".py") and not name.startswith("tests/")]
    found = {name: hiding((ROOT / name).read_text(encoding="utf-8")) for name in product}
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert hiding("x = [sys.executable, '-m', 'zonelab']") == hiding("f(*(sys.executable, '-m', name))") == [1]
    assert hiding("x = [sys.executable, '-P', '-m', 'zonelab']") == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a user whose packages have the names of ours."""
    for name in FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise SystemExit('{name} of the user')")
    return tmp_path


def output(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_python_m_zonelab_is_the_command_whatever_the_folder_has(folder: Path) -> None:
    command = str(Path(sys.executable).with_name("zonelab"))
    told = [output(*program, "--help", cwd=folder) for program in ((command,), (sys.executable, "-m", "zonelab"))]
    assert told[0] == told[1]
    assert told[0].startswith("Usage: zonelab [OPTIONS] COMMAND")
    output(sys.executable, "-m", "zonelab", "run", "steady", "--on", "sim", cwd=folder)


def test_a_queue_that_workers_import_is_found_beside_such_folders(folder: Path) -> None:
    (folder / "mine.py").write_text("def make(*given): 1 / 0\n")
    command = [str(Path(sys.executable).with_name("zonelab")), "hunt", "steady", "--runs", "2", "--messages", "5"]
    done = subprocess.run(
        [*command, "--jobs", "2", "--queue", "mine:make"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert "ZeroDivisionError" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "of the user" not in done.stdout + done.stderr


def test_a_users_tests_run_beside_a_folder_of_such_a_name(folder: Path) -> None:
    (folder / "test_own.py").write_text("def test_own():\n    import zonelab.studies.properties\n")
    assert "1 passed" in output(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_own.py", cwd=folder)
