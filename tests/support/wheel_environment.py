"""An environment of its own for tests of the built wheel: what pip installs with it, beside a package ``cluster``.

    python tests/support/wheel_environment.py

makes it in ``.wheel``, and again only when pyproject.toml or constraints.txt have changed. Without a package registry
it says so in one line; the tests of the wheel are then skipped.
"""

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".wheel"
BIN = FOLDER / "venv" / "bin"
TOOLS = FOLDER / "tools"
"""What tests need beside the wheel: on PYTHONPATH when they do, and in no other test's way."""

TESTED_WITH = ("hypothesis", "mypy", "pytest", "pytest-xdist")
ANOTHER_CLUSTER = "cluster"
"""A package of somebody else's, which has one of our folders' names."""

_READY = FOLDER / "ready"


def is_made() -> bool:
    return _READY.is_file() and _READY.read_text(encoding="utf-8") == _made_of()


def make() -> None:
    """Raises ``CalledProcessError`` if something cannot be downloaded."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(FOLDER / "venv"))
    pip_install(str(built()), ANOTHER_CLUSTER)
    pip_install("--target", str(TOOLS), *TESTED_WITH)
    _READY.write_text(_made_of(), encoding="utf-8")


def built() -> Path:
    """Returns the wheel of the project as it is now, built from a source distribution."""
    shutil.rmtree(FOLDER / "dist", ignore_errors=True)
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(FOLDER / "dist"), str(ROOT))
    (wheel,) = (FOLDER / "dist").glob("*.whl")
    return wheel


def pip_install(*words: str) -> None:
    pip = (str(BIN / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(*pip, "--constraint", str(ROOT / "constraints.txt"), *words)


def _made_of() -> str:
    files = [(ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    return sha256(b"\0".join([*files, sys.version.encode(), Path(__file__).read_bytes()])).hexdigest()


def _run(*words: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run(words, env=environment, capture_output=True, text=True, check=True)


def _say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def main() -> None:
    if is_made():
        return
    _say(f"setting up {FOLDER.name}: the wheel with what it needs, for the tests of it")
    try:
        make()
    except subprocess.CalledProcessError as error:
        why = (error.stderr.strip().splitlines() or [str(error)])[-1]
        _say(f"the tests of the wheel are skipped: {why}")


if __name__ == "__main__":
    main()
