"""What the stories of queues and of workloads share: a timeline of faults, commands and every zone's answers."""

from collections.abc import Iterable, Iterator

from analysis.runs.fault_bands import fault_bands
from analysis.runs.history import FAULTS
from analysis.stories.lines import Line, fault_lines
from cluster.connections.failures import ZoneFailure
from engine.ports import Argument, Command, Reply, ServerError
from scenarios.run_files.tables import FAULTS_NAME, MemoryTables, rows
from scenarios.stories.command_log import Sent

LINES_MAX = 200
"""So many lines of a timeline are shown; a shrunk run has far fewer."""

_VALUE_CHARACTERS_MAX = 40

TIMES = "Times are milliseconds after the load began. Under each command stands what every zone answered, and when."


def timeline_block(lines: Iterable[Line], *, begin_ns: int) -> str:
    """The lines in the order of their times, as preformatted Markdown; times in ms after ``begin_ns``."""
    ordered = sorted(lines, key=lambda line: line.time_ns)
    shown = [f"{(time_ns - begin_ns) / 1e6:>12.3f}  {who:<22} {what}" for time_ns, who, what, _ in ordered[:LINES_MAX]]
    if len(ordered) > LINES_MAX:
        shown.append(f"(and {len(ordered) - LINES_MAX} lines more)")
    return "```text\n" + "\n".join(shown) + "\n```"


def lines_of_faults(tables: MemoryTables) -> Iterator[Line]:
    return fault_lines(fault_bands(rows(tables, FAULTS_NAME, FAULTS.names)))


def command_lines(commands: Iterable[Sent], *, through: bool) -> Iterator[Line]:
    """``through``: say which zone's coordinator a command was sent to, since it need not be the program's own."""
    for sent in commands:
        way = f"  (through {sent.zone})" if through else ""
        yield Line(sent.time_ns, sent.program, f"  {_words(sent.command)}{way}")
        yield from _answers(sent)


def _answers(sent: Sent) -> Iterator[Line]:
    """Zones that answered the same at the same time share a line."""
    together: dict[tuple[int, str], list[str]] = {}
    for zone, answer in sent.answers.items():
        if answer is None:
            yield Line(sent.time_ns, "", f"    {zone} never answers")
        else:
            together.setdefault((answer.time_ns, _reply(answer.reply)), []).append(zone)
    for (time_ns, reply), zones in together.items():
        yield Line(time_ns, "", f"    {', '.join(zones)} to {_name(sent.command)}: {reply}")


def _name(command: Command) -> str:
    return _text(command[0])


def _words(command: Command) -> str:
    return " ".join(_short(_text(word)) for word in command)


def _text(word: Argument) -> str:
    """On one line: what cannot be printed is escaped, as in ``a\\xff\\n``."""
    text = word.decode(errors="backslashreplace") if isinstance(word, bytes) else str(word)
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _reply(reply: Reply) -> str:
    if isinstance(reply, ZoneFailure):
        return f"{reply} ({'may have been applied' if reply.maybe_applied else 'not applied'})"
    if isinstance(reply, ServerError):
        return str(reply)
    if isinstance(reply, list):
        return "[" + ", ".join(_reply(item) for item in reply) + "]"
    return _short(_text(reply)) if isinstance(reply, bytes) else "nil" if reply is None else str(reply)


def _short(text: str) -> str:
    return text if len(text) <= _VALUE_CHARACTERS_MAX else text[: _VALUE_CHARACTERS_MAX - 1] + "…"
