"""The Lua scripts of fenced partitions, each behind what all of them share."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from zonelab.engine.ports import Argument, Command

_FOLDER = Path(__file__).with_name("lua")


def run(name: str, keys: Sequence[str], *words: Argument) -> Command:
    """The command that runs ``lua/NAME.lua``."""
    return ("EVAL", _text(name), len(keys), *keys, *words)


@cache
def _text(name: str) -> str:
    return "\n".join((_FOLDER / f"{part}.lua").read_text(encoding="utf-8") for part in ("_zone", name))
