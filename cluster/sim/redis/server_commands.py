"""The commands that the packaged server has, modelled or not, with their groups and flags, from its own ``COMMAND``.

``server_commands.json`` is made by a program (``tests/support/cluster/command_table.py``), and so is the table in
docs/simulation.md. What is here by hand are the reasons why commands are left out.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("server_commands.json")


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """A command of the server, or a sub-command called ``name|sub``. ``flags``: write, denyoom, noscript."""

    group: str
    flags: frozenset[str]


SERVER_COMMANDS = {
    name: ServerCommand(group, frozenset(flags.split()))
    for name, (group, flags) in json.loads(FILE.read_text(encoding="utf-8")).items()
}

CONTAINERS = frozenset(name.partition("|")[0] for name in SERVER_COMMANDS if "|" in name)
"""Commands with sub-commands."""


def _flagged(flag: str) -> frozenset[str]:
    return frozenset(name for name, facts in SERVER_COMMANDS.items() if flag in facts.flags)


WRITES = _flagged("write")
"""Commands that a script of the flag ``no-writes`` must not call."""

GROWS = _flagged("denyoom")
"""Commands that a server refuses when its memory is full."""

NO_SCRIPT = _flagged("noscript")
"""Commands that no script may call."""

_OWN_CONNECTION = "a program's own connection has it (`client_connection`), the shared one has not"
_SERVER_ALONE = "it is about one server's process, files or replicas, which the lab itself starts and breaks"
_INSIDE = "it is for those who work on the server itself"
_CONNECTION = "it is about one client's connection, which many programs share here"

_GROUPS = {
    "cluster": "the zones are no Redis Cluster",
    "connection": _CONNECTION,
    "pubsub": _OWN_CONNECTION,
    "server": _SERVER_ALONE,
    "transactions": _OWN_CONNECTION,
}
_NAMES = {
    **dict.fromkeys(("pfdebug", "pfselftest"), _INSIDE),
    **dict.fromkeys(("blmove", "blmpop", "blpop", "brpop", "brpoplpush"), _OWN_CONNECTION),
    **dict.fromkeys(("bzmpop", "bzpopmax", "bzpopmin"), _OWN_CONNECTION),
    **dict.fromkeys(("migrate", "wait", "waitaof"), "zones are no replicas of each other"),
    **dict.fromkeys(("move", "swapdb"), "there is database 0 only"),
    "object|idletime": "when a key was last looked at is not kept",
    "restore-asking": "the zones are no Redis Cluster",
    **dict.fromkeys(
        ("config|help", "pubsub|help", "script|debug", "script|help"), "they are for a person at a terminal"
    ),
    "lolwut": "it says nothing of data",
    "acl": "a simulated server has no users",
}


def full_name(words: Sequence[str]) -> str | None:
    """Return the name of the server's command that ``words`` begin with, or of its sub-command; None if it has none."""
    name = words[0].lower()
    if name in CONTAINERS and len(words) > 1:
        name = f"{name}|{words[1].lower()}"
    elif "|" in name:
        return None
    return name if name in SERVER_COMMANDS else None


def why_left_out(name: str) -> str:
    """Return the reason why the model does not have a command of the server."""
    return _NAMES.get(name) or _NAMES.get(name.partition("|")[0]) or _GROUPS[SERVER_COMMANDS[name].group]


def not_modelled(*names: str) -> str:
    """Return the sentence for commands of the server that the model does not have."""
    listed = ", ".join(name.upper().replace("|", " ") for name in names)
    return f"the simulated server does not model {listed}; run with --on process"
