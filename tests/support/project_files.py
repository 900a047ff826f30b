"""Which files belong to the project."""

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FOLDERS = ("app", "studies", "scenarios", "analysis", "cluster", "engine")
"""Folders of the product, imported as packages of ``zonelab``; from the highest to the lowest."""


@cache
def project_files():
    """Every file of the project, relative to its root; without git, every file that is not hidden or made."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        return frozenset(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())
    made = re.compile(r"^runs/|(^|/)(\.|__pycache__|build/|dist/|[^/]*\.egg-info)")
    names = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file())
    return frozenset(name for name in names if not made.search(name))
