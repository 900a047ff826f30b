"""Goal: a run says which program made it. Method: source trees with and without a commit, and with changed files."""

import subprocess
from pathlib import Path

import pytest

import zonelab
from zonelab.scenarios.run_files import directory


def source_tree(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = folder / "scenarios" / "run_files" / "directory.py"
    module.parent.mkdir(parents=True)
    monkeypatch.setattr(directory, "__file__", str(module))


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_run_records_the_commit_of_the_source_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source_tree(tmp_path, monkeypatch)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "first")
    assert directory.environment()["git_commit"] == git(tmp_path, "rev-parse", "HEAD")


def test_an_installed_package_has_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it lies in somebody's own repository."""
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "theirs")
    source_tree(tmp_path / "site-packages", monkeypatch)
    assert directory.environment()["git_commit"] is None


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a program in a clone: a module, and a link to a folder that is elsewhere."""
    made = tmp_path / "clone" / "zonelab"
    made.mkdir(parents=True)
    (made / "__init__.py").touch()
    (made.parent / "engine" / "lua").mkdir(parents=True)
    (made.parent / "engine" / "lua" / "pop.lua").write_text("return 1")
    (made / "engine").symlink_to("../engine", target_is_directory=True)
    monkeypatch.setattr(zonelab, "__file__", str(made / "__init__.py"))
    return made


@pytest.mark.parametrize(
    "changed", ["__init__.py", "engine/lua/pop.lua", "engine/new.py", "studies/new.py", "engine/table.yaml"]
)
def test_any_file_of_the_package_makes_another_program(package: Path, changed: str) -> None:
    before = directory.program_fingerprint()
    (package / changed).parent.mkdir(exist_ok=True)
    (package / changed).write_text("return 2")
    assert directory.program_fingerprint() != before


def test_an_installed_copy_is_the_same_program_and_so_is_what_has_run(package: Path) -> None:
    before = directory.program_fingerprint()
    (package / "engine").unlink()
    (package.parent / "engine").rename(package / "engine")
    (package / "engine" / "__pycache__").mkdir()
    (package / "engine" / "__pycache__" / "new.pyc").touch()
    (package / "engine" / ".new.py.swp").touch()
    assert directory.program_fingerprint() == before
