"""The Lua scripts, and the commands that run them: EVAL with the whole text, which needs no SCRIPT LOAD on any zone."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from zonelab.engine.ports import Argument, Command


def run(name: str, keys: Sequence[str], *words: Argument) -> Command:
    """The command that runs ``lua/NAME.lua``."""
    return ("EVAL", _text(name), len(keys), *keys, *words)


BEGINS_WITH = {"append": "move_due", "deliver": "move_due"}
"""Scripts that begin with the functions of another."""


@cache
def _text(name: str) -> str:
    text = (Path(__file__).parent / "lua" / f"{name}.lua").read_text(encoding="utf-8")
    return _text(BEGINS_WITH[name]) + text if name in BEGINS_WITH else text
