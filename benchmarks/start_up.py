"""How long the verbs take that only show something: seconds, and as a ratio to a Python that does nothing.

    python benchmarks/start_up.py [--turns 7]

The commands take turns, so that a busy machine slows all of them. Medians; the smallest and largest in brackets.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from environment import environment

ZONELAB = str(Path(sys.executable).with_name("zonelab"))
MEASURED_AGAINST = "python -c pass"
COMMANDS: Mapping[str, Sequence[str]] = {
    MEASURED_AGAINST: (sys.executable, "-c", "pass"),
    "python -c 'import typer'": (sys.executable, "-c", "import typer"),
    "python -c 'import zonelab'": (sys.executable, "-c", "import zonelab"),
    "zonelab --help": (ZONELAB, "--help"),
    "zonelab scenarios": (ZONELAB, "scenarios"),
    "zonelab status": (ZONELAB, "status"),
}

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Modules are compiled in the first turn, as they are for a user."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--turns", type=int, default=7)
    turns = options.parse_args().turns
    taken_s: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as state:
        for _ in range(turns):
            for name, command in COMMANDS.items():
                taken_s[name].append(seconds_of(command, state=state))
    print(json.dumps(environment()))
    base_s = statistics.median(taken_s[MEASURED_AGAINST])
    for name, each_s in taken_s.items():
        median_s = statistics.median(each_s)
        print(f"{name:28} {median_s:6.2f} s ({min(each_s):.2f} to {max(each_s):.2f})  x {median_s / base_s:.1f}")


def seconds_of(command: Sequence[str], *, state: str) -> float:
    begin = time.perf_counter()
    subprocess.run(command, env={**ENVIRONMENT, "ZONELAB_STATE": state}, capture_output=True, check=False)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
