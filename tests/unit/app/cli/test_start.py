"""Goal: verbs that only show something start at once: they load no library that they do not use.

Method: run them in a fresh Python, and look at what has been loaded when they end.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.app.every_verb import SLOW_TO_LOAD

from zonelab.analysis.runs.builder import RunBuilder

_SLOW = SLOW_TO_LOAD - {"rich"}
"""``status`` draws its tables with rich."""

_LOADED = """
import sys
from zonelab.app.cli.main import run_cli
run_cli(sys.argv[1:])
import zonelab.app.session.status_tables  # with which status shows a cluster that is up
print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


@pytest.mark.parametrize("words", [["--help"], ["hunt", "--help"], ["scenarios"], ["status"]])
def test_what_only_shows_something_loads_nothing_slow(words: list[str], tmp_path: Path):
    assert not loaded_by(words, state=tmp_path) & _SLOW


def test_the_index_of_runs_with_a_finding_loads_nothing_slow(tmp_path: Path):
    run = RunBuilder(tmp_path / "runs" / "made" / "1").write(program="aaaa")
    found = {"forbid": ["lost"], "counts": {"lost": 1}, "not_judged": [], "doubts": []}
    (run / "verdict.json").write_text(json.dumps({"valid": False, "sections": {"queue": found}}))
    assert not loaded_by(["index", str(tmp_path / "runs")], state=tmp_path) & {*_SLOW, "asyncio"}
    assert '"name": "lost"' in (tmp_path / "runs" / "index.json").read_text()


def loaded_by(words: list[str], *, state: Path) -> set[str]:
    """The names of all top packages that a command line has loaded when it ends."""
    ended = subprocess.run(
        [sys.executable, "-c", _LOADED, *words],
        capture_output=True,
        text=True,
        env={"ZONELAB_STATE": str(state)},
        check=True,
    )
    loaded = set(ended.stderr.splitlines()[-1].split())
    assert "typer" in loaded
    return loaded
