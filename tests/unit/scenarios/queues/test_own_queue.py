"""Goal: a queue of the user's own that cannot be found, and an id that is no text, are refused with one line.

Method: name what is not there, is no function, or fails while it is imported. What one does is in
``tests/property/test_properties_docs.py``.
"""

import sys
from pathlib import Path

import pytest

from zonelab.app.cli.main import run_cli
from zonelab.engine.message import Message
from zonelab.scenarios.spec.queue_factory import files_needed, load_factory, sources


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("plain", "got 'plain'; accepted: MODULE:FUNCTION, e.g. my_queue:make_queue"),
        ("broken:make", "got 'broken:make': not found (ZeroDivisionError: division by zero)"),
        (
            "absent:make",
            "got 'absent:make': not found (ModuleNotFoundError: No module named 'absent')",
        ),
        ("empty:make", "got 'empty:make': not found (AttributeError: module 'empty' has no attribute 'make')"),
        ("os:curdir", "got 'os:curdir': curdir is no function; accepted: MODULE:FUNCTION"),
    ],
)
@pytest.mark.parametrize("verb", ["run", "hunt"])
def test_a_queue_that_is_not_there_is_refused(
    verb: str,
    named: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "empty.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert run_cli([verb, "steady", "--queue", named]) == 64
    assert capsys.readouterr().err.startswith(f"zonelab: --queue: {told}")


def test_the_current_folder_hides_no_installed_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mine_alone.py").write_text("import colorsys\ndef make(testbed, scenario): ...")
    (tmp_path / "colorsys.py").write_text("1 / 0")
    monkeypatch.setattr(sys, "path", before := list(sys.path))
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    monkeypatch.chdir(tmp_path)
    assert load_factory("mine_alone:make").__name__ == "make"
    assert sys.path == [*before[:-1], str(tmp_path)]


def test_its_sources_are_the_files_of_its_folder_that_it_has_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "own_package"
    folder.mkdir()
    for name in ("__init__", "helper", "unused"):
        (folder / f"{name}.py").touch()
    (folder / "queue.py").write_text("import json\nfrom own_package import helper\ndef make(testbed, scenario): ...")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert [file.name for file in sources("own_package.queue:make")] == ["__init__.py", "helper.py", "queue.py"]
    names = [f"own_package/{name}.py" for name in ("__init__", "helper", "queue", "unused")]
    assert list(files_needed("own_package.queue:make")) == names


def test_an_id_in_bytes_as_a_server_answers_it_is_refused():
    with pytest.raises(ValueError, match="message id must be a non-empty string, got b'm'"):
        Message(id=b"m")  # type: ignore[arg-type]
