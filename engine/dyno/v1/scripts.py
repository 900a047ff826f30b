"""The Lua scripts, and how they are run.

Always by EVAL with the whole text. EVALSHA would save about a kilobyte a call, but a server that was restarted has
forgotten the script, and through a coordinator nobody learns of that: its NOSCRIPT is one answer of three, a script
that ran elsewhere makes the error ``Indeterminate``, and to repeat it by EVAL could run it twice where it was known.
For the same reason nothing here branches on the error of a script. SCRIPT LOAD at the start does not help against a
later restart, and EVAL keeps by itself what it compiled.

Through a coordinator a script is a write: every zone runs it on its own data, whatever it does.
"""

from pathlib import Path

_FOLDER = Path(__file__).with_name("lua")


def _texts(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.lua"))}


SCRIPTS = _texts(_FOLDER)
"""By name."""

ORIGINAL_SCRIPTS = {**SCRIPTS, **_texts(_FOLDER / "original")}
"""The same with the original's defects, for ``compat``."""
