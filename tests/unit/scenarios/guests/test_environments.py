"""Goal: an environment of a guest is made once, whole or not at all, and what keeps it from being made is one line.

Method: a guest in Go, with a program named ``go`` that writes the words it got, and fails where a test wants that.
"""

import os
import re
import threading
from pathlib import Path

import pytest

from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.guests import environments
from zonelab.scenarios.guests.environments import (
    GuestEnvironment,
    cache_folder,
    clean_environments,
    environment_of,
    used_environment,
)
from zonelab.scenarios.guests.guest import Guest, guest_names, load_guest

GO = """#!/bin/sh
echo "$@" >> "$SAID"
case "$1" in
  get) [ -z "$FAILS" ] || { echo "go: downloading"; echo "go: $FAILS: unknown revision v9" >&2; exit 1; };;
  build) : > "$4";;
esac
"""
FILE = "{language: go, package: example.org/q, version: 1.2.0, programs: {worker: {command: '{home}/worker'}}}"


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SAID", str(tmp_path / "said"))
    return tmp_path / "said"


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    folder = tmp_path / "queue"
    folder.mkdir()
    (folder / "guest.yaml").write_text(FILE)
    (folder / "worker.go").write_text("package main")
    return load_guest(str(folder))


def names_cleaned() -> tuple[list[str], list[str]]:
    removed, left = clean_environments()
    return list(removed), left


def commands(said: Path) -> list[str]:
    return said.read_text().splitlines()


def test_it_is_made_once_of_the_files_that_are_there(said: Path, guest: Guest) -> None:
    heard: list[str] = []
    first = environment_of(guest, on_making=heard.append)
    assert (first.home / "worker.go").is_file()
    assert (first.home / "worker").is_file()
    assert environment_of(guest, on_making=heard.append) == first
    assert heard == ["install queue 1.2.0"]
    assert commands(said)[1] == "get example.org/q@v1.2.0"
    (guest.folder / "worker.go").write_text("package main // changed")
    assert environment_of(guest) != first
    assert environment_of(guest, version="1.3.0").home.name.startswith("queue-1.3.0-")


def test_two_makers_at_once_make_it_once(said: Path, guest: Guest) -> None:
    makers = [threading.Thread(target=environment_of, args=(guest,)) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert sum(line.startswith("get") for line in commands(said)) == 1


def test_a_version_that_is_not_there_is_one_line_and_leaves_nothing(
    said: Path, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILS", "example.org/q@v9")
    with pytest.raises(ClusterError) as refused:
        environment_of(guest, version="9")
    line = "guest queue: example.org/q 9 cannot be installed: go: example.org/q@v9: unknown revision v9"
    assert str(refused.value) == line
    assert [path for path in cache_folder().iterdir() if path.is_dir()] == []


def test_a_toolchain_that_is_missing_is_named(said: Path, guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ClusterError, match=r"^guest queue needs go, which is not on the PATH$"):
        environment_of(guest)


def test_they_are_removed_with_what_a_killed_maker_left(said: Path, guest: Guest) -> None:
    assert clean_environments() == ({}, [])
    home = environment_of(guest).home
    for left in (f".making-{home.name}-x", f".making-{home.name}"):  # of a maker, and of a clean that did not end
        (cache_folder() / left).mkdir()
        (cache_folder() / left / "big").write_bytes(bytes(5_000))
    size = sum(path.stat().st_size for path in home.rglob("*"))
    assert clean_environments() == ({home.name: size}, [])
    assert list(cache_folder().iterdir()) == []


def test_those_in_use_are_not_removed(said: Path, guest: Guest) -> None:
    other = environment_of(guest, version="1.3.0").home
    with used_environment(guest) as first, used_environment(guest):
        assert names_cleaned() == ([other.name], [first.home.name])
        assert (first.home / "worker").is_file()
    assert names_cleaned() == ([first.home.name], [])


def test_one_that_is_removed_before_it_is_used_is_made_again(
    said: Path, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = iter((clean_environments, lambda: None))

    def removed(*given: Guest, **options: object) -> GuestEnvironment:
        made = environment_of(*given, **options)  # type: ignore[arg-type]
        next(gone)()
        return made

    monkeypatch.setattr(environments, "environment_of", removed)
    with used_environment(guest) as environment:
        assert (environment.home / "worker").is_file()


def test_what_is_wrong_in_its_file_is_one_line(guest: Guest) -> None:
    (guest.folder / "guest.yaml").write_text("{language: go, package: q, version: 1, programs: {}}")
    with pytest.raises(ValueError, match=r"guest.yaml: version: got 1: Input should be a valid string$"):
        load_guest(str(guest.folder))
    (guest.folder / "guest.yaml").write_text(FILE.replace("command", "words"))
    with pytest.raises(ValueError, match="worker: command is missing"):
        load_guest(str(guest.folder))


@pytest.mark.parametrize("name", guest_names())
def test_guests_that_ship_have_a_producer_and_a_worker(name: str) -> None:
    assert set(load_guest(name).programs) == {"producer", "worker"}


@pytest.mark.parametrize("name", guest_names())
def test_the_programs_of_a_guest_that_ships_are_short_and_its_packages_have_versions(name: str) -> None:
    guest = load_guest(name)
    lines = [line for path in guest.sources if path.is_file() for line in path.read_text().splitlines()]
    assert sum(bool(line.strip()) for line in lines) <= 60
    assert all(re.search(r"\d", need) for need in guest.needs)
