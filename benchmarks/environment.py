"""Machine and program that a figure was measured on."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def environment() -> dict[str, object]:
    """Date, commit, versions and machine, to be printed beside every figure."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        check=False,
    )
    return {
        "date_utc": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        "commit": commit.stdout.strip() or None,
        "zonelab": version("zonelab"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
    }
