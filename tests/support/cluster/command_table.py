"""The table of the server's commands: the product's data file, made from a server, and the page that shows it.

``PYTHONPATH=tests python -m support.cluster.command_table`` makes the file anew, with ``--page`` docs/simulation.md.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator

from support.cluster.redis_pair import real_server
from support.project_files import ROOT

from zonelab.cluster.sim.redis.commands.server import MODELLED as SERVER_VERSION
from zonelab.cluster.sim.redis.model import script_commands
from zonelab.cluster.sim.redis.registry import COMMANDS, names
from zonelab.cluster.sim.redis.script_host import ScriptHost
from zonelab.cluster.sim.redis.server_commands import CONTAINERS, FILE, SERVER_COMMANDS, why_left_out

PAGE = ROOT / "docs" / "simulation.md"
BEGIN = "<!-- made by: PYTHONPATH=tests python -m support.cluster.command_table --page -->\n"
END = "<!-- end of what is made -->"
FLAGS = (b"write", b"denyoom", b"noscript")

_SCRIPTS = script_commands(ScriptHost(call=lambda args, execution: None, full=bool, unwritable=lambda: None))
MODELLED = frozenset((*names(COMMANDS), *names(_SCRIPTS)))


def described(client) -> dict[str, tuple[str, str]]:
    """Group and flags of every command of the server behind ``client``, sub-commands as ``name|sub``."""
    docs = client.execute(("COMMAND", "DOCS"))
    groups = {name.decode(): _fields(facts)[b"group"].decode() for name, facts in _pairs(docs)}
    found = {}
    for facts in client.execute(("COMMAND",)):
        for each in (facts, *facts[9]):
            name = each[0].decode()
            flags = " ".join(flag.decode() for flag in FLAGS if flag in each[2])
            found[name] = (groups[name.partition("|")[0]], flags)
    return dict(sorted(found.items()))


def file_text(commands: dict[str, tuple[str, str]]) -> str:
    """The data file: JSON, a command a line."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in commands.items())
    return f"{{\n{lines}\n}}\n"


def table() -> str:
    """Markdown: a line a group of commands, containers by their sub-commands."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f"Commands of Valkey {SERVER_VERSION}, by the groups of its `COMMAND DOCS`:\n"
    yield "| group | modelled | left out, because |\n|---|---|---|"
    groups: dict[str, list[str]] = defaultdict(list)
    for name, facts in SERVER_COMMANDS.items():
        if name not in CONTAINERS:
            groups[facts.group].append(name)
    for group in sorted(groups):
        there = [name for name in groups[group] if name in MODELLED]
        reasons: dict[str, list[str]] = defaultdict(list)
        for name in groups[group]:
            if name not in MODELLED:
                reasons[why_left_out(name)].append(name)
        left_out = "; ".join(f"{_names(names)}: {reason}" for reason, names in reasons.items())
        yield f"| {group} | {_names(there)} | {left_out} |"


def _names(names: Iterable[str]) -> str:
    """Names in capitals; sub-commands together behind their command."""
    shown: dict[str, list[str]] = {}
    for name in names:
        head, _, sub = name.upper().partition("|")
        shown.setdefault(head, []).append(sub)
    return ", ".join(
        f"`{head}`" if subs == [""] else f"`{head}` ({', '.join(sub for sub in subs if sub)})"
        for head, subs in shown.items()
    )


def _pairs(flat: list) -> Iterator[tuple]:
    return zip(flat[::2], flat[1::2], strict=True)


def _fields(flat: list) -> dict:
    return dict(_pairs(flat))


def write_page() -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")


def write_file() -> None:
    with real_server() as server:
        FILE.write_text(file_text(described(server)), encoding="utf-8")


if __name__ == "__main__":
    if "--page" in sys.argv:
        write_page()
    else:
        write_file()
