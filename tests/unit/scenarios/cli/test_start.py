"""Goal: verbs that only show something start at once: they load no library that they do not use.

Method: run them in a fresh Python, and look at what has been loaded when they end.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SLOW_TO_LOAD = {"docker", "lupa", "matplotlib", "pandas", "pyarrow", "pyspark", "scipy", "simpy"}

_LOADED = """
import sys
from scenarios.cli.main import run_cli
run_cli(sys.argv[1:])
import scenarios.session.status_tables  # with which status shows a cluster that is up
print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


@pytest.mark.parametrize("words", [["--help"], ["hunt", "--help"], ["scenarios"], ["status"]])
def test_what_only_shows_something_loads_nothing_slow(words: list[str], tmp_path: Path):
    ended = subprocess.run(
        [sys.executable, "-c", _LOADED, *words],
        capture_output=True,
        text=True,
        env={"ZONELAB_STATE": str(tmp_path)},
        check=True,
    )
    loaded = set(ended.stderr.splitlines()[-1].split())
    assert "typer" in loaded
    assert not loaded & SLOW_TO_LOAD
