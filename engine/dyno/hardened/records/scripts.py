"""The Lua scripts of hardened mode, and the commands that run them.

Always EVAL with the whole text, for the reasons that ``zonelab.engine.dyno.v1.scripts`` gives.
"""

from collections.abc import Sequence
from pathlib import Path

from zonelab.engine.dyno.hardened.records.keys import HardenedKeys
from zonelab.engine.ports import Argument, Command

_FOLDER = Path(__file__).with_name("lua")
_RECORDS = (_FOLDER / "_records.lua").read_text(encoding="utf-8")
_TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("[!_]*.lua"))}
_ON_MESSAGES = {name: f"{_RECORDS}\n{text}" for name, text in _TEXTS.items() if name != "serve"}
_SAME_PAYLOAD = (_FOLDER / "_same_payload.lua").read_text(encoding="utf-8")
_ON_MESSAGES["lease_same"] = f"{_RECORDS}\n{_SAME_PAYLOAD}\n{_TEXTS['lease']}"


class RecordScripts:
    """Maker of the commands for the queue whose ``keys`` and ``shards`` are given."""

    def __init__(self, *, keys: HardenedKeys, shards: Sequence[str]) -> None:
        names = keys.of_scripts(shards)
        self._head: tuple[Argument, ...] = (len(names), *names, len(shards), *shards)
        self._servers = keys.servers

    def on_messages(self, name: str, *arguments: Argument) -> Command:
        return ("EVAL", _ON_MESSAGES[name], *self._head, *arguments)

    def serve(self, *arguments: Argument) -> Command:
        return ("EVAL", _TEXTS["serve"], 1, self._servers, *arguments)
