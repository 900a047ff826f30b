"""Copies of the product in which a test follows a recipe of CONTRIBUTING, and tries what it has planted.

A test under ``tests/unit/recipes`` plants one new level, verb, fault or column::

    @pytest.fixture(scope="module")
    def tree(tmp_path_factory):
        tree = PlantedTree(tmp_path_factory.mktemp("tree"))
        tree.edit("cluster/votes/levels.py", ('DC_ONE = "DC_ONE"', 'DC_ONE = "DC_ONE"\n    DC_ALL = "DC_ALL"'))
        tree.add("app/verbs/shout.py", "...")
        return tree

    def test_number_of_files(tree):
        assert len(tree.touched) <= 3

    def test_run(tree):
        run = tree.zonelab("run", "steady", "--level", "DC_ALL", "--json")
        assert json.loads(run.stdout)["valid"]

``python`` runs a program, ``zonelab`` a command line; both import the packages of the copy, in a process of their own
whose working directory is the copy. A test that needs several of them gathers what it asks in one program.
"""

import os
import shutil
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

from support.programs import HANGS_S
from support.project_files import FOLDERS, ROOT

_NOT_COUNTED = "scenarios/library/"


class PlantedTree:
    """A copy of the product in ``folder``. ``touched``: the product files that were edited or added, in that order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.touched: list[str] = []
        half_written = shutil.ignore_patterns("*.pyc.*")
        for name in (*FOLDERS, "zonelab"):  # with compiled modules, which stay valid as times of files are kept
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=half_written)

    def edit(self, path: str, *changes: tuple[str, str]) -> None:
        """Replace in ``path`` each old text, which must be there exactly once, by the new one."""
        text = (self.folder / path).read_text()
        for old, new in changes:
            assert text.count(old) == 1, f"{path} has {text.count(old)} times: {old}"
            text = text.replace(old, new)
        self._write(path, text)

    def add(self, path: str, text: str) -> None:
        """Write the new file ``path``."""
        assert not (self.folder / path).exists(), f"{path} is there already"
        self._write(path, text)

    def python(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run Python in the copy. Raises ``AssertionError`` if it does not end with exit code ``code``."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment | {"PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=False,
        )
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def zonelab(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run one command line of the copy, as ``python`` does."""
        return self.python("-m", "zonelab", *arguments, code=code)

    def _write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        # A compiled module of the same second and size would be taken for this one.
        Path(cache_from_source(str(file))).unlink(missing_ok=True)
        if path not in self.touched and not path.startswith(_NOT_COUNTED):
            self.touched.append(path)
