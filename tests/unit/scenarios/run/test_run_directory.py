"""Goal: a run says which program made it. Method: a source tree with a commit of its own, and one without any."""

import subprocess
from pathlib import Path

import pytest

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
