"""Goal: known clean says what it removed from the cache that all runs share. Method: folders in a cache of the test."""

import json
from pathlib import Path

import pytest

from zonelab.app.cli.main import run_cli
from zonelab.cluster.process.file_lock import lock_held


def test_clean_says_how_many_environments_it_removed_and_how_large(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "zonelab" / "guests"
    for name, size in (("bullmq-6", 2_500_000), ("rq-2", 700_000), ("saq-1", 1)):
        (folder / name / "bin").mkdir(parents=True)
        (folder / name / "bin" / "it").write_bytes(bytes(size))
    sizes = {one.name: sum(path.stat().st_size for path in one.rglob("*")) for one in folder.iterdir()}
    with lock_held(folder / "saq-1.lock", shared=True):
        assert run_cli(["known", "clean"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "removed bullmq-6, 2.5 MB",
        "removed rq-2, 0.7 MB",
        "in use: saq-1",
        f"{folder}: 2 environments removed, 3.2 MB; what is in use is left",
    ]
    assert run_cli(["known", "clean", "--json"]) == 0
    said = {"folder": str(folder), "removed": ["saq-1"], "bytes": sizes["saq-1"], "in_use": []}
    assert json.loads(capsys.readouterr().out) == said
