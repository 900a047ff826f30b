"""A timeline of events, commands and every zone's answers, as preformatted Markdown."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from zonelab.analysis.stories.lines import Line
from zonelab.cluster.commands.routes import is_write
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.engine.ports import Argument, Command, Reply, ServerError
from zonelab.scenarios.run.command_log import SentCommand

LINES_MAX = 200
"""Lines of a timeline that are shown, unless more are ``kept``; a shrunk run has far fewer."""

_VALUE_CHARACTERS_MAX = 40

TIMES = "Times are milliseconds after the load began. Under each command stands what every zone answered, and when."


def timeline_block(lines: Iterable[Line], *, begin_ns: int) -> str:
    """The lines in the order of their times, as preformatted Markdown; times in ms after ``begin_ns``."""
    ordered = sorted(lines, key=lambda line: line.time_ns)
    shown = []
    for left_out, same in groupby(zip(ordered, _left_out(ordered), strict=True), key=itemgetter(1)):
        every = [line for line, _ in same]
        if left_out:
            shown.append(f"(… {len(every)} lines left out …)")
        else:
            shown += [f"{(one.time_ns - begin_ns) / 1e6:>12.3f}  {one.who:<22} {one.what}" for one in every]
    return "```text\n" + "\n".join(shown) + "\n```"


def _left_out(ordered: Sequence[Line]) -> list[bool]:
    """Mark the lines to leave out if there are too many: some in the middle, but none that is kept."""
    others = [number for number, line in enumerate(ordered) if not line.kept]
    room = max(0, LINES_MAX - (len(ordered) - len(others)))
    begin, end = room - room // 2, len(others) - room // 2
    dropped = set(others[begin:end])
    return [number in dropped for number in range(len(ordered))]


def command_lines(
    commands: Iterable[SentCommand], *, through: bool, between: Sequence[int] | None = None
) -> Iterator[Line]:
    """``through``: say which zone's coordinator a command was sent to, since it need not be the program's own.

    ``between``: times of what else happened; looks that show nothing new until the next of them share a line.
    """
    marks = None if between is None else sorted(between)
    seen: set[object] = set()
    span, folded, last_ns = 0, 0, 0
    for sent in commands:
        now = 0 if marks is None else bisect_right(marks, sent.time_ns)
        if now != span:
            yield from _fold(folded, last_ns)
            span, folded = now, 0
            seen.clear()
        look = None if marks is None else _look(sent)
        if look is not None and look in seen:
            folded, last_ns = folded + 1, sent.time_ns
            continue
        seen.add(look)
        way = f"  (through {sent.zone})" if through else ""
        yield Line(sent.time_ns, sent.program, f"  {command_text(sent.command)}{way}")
        yield from _answers(sent)
    yield from _fold(folded, last_ns)


def _fold(looks: int, last_ns: int) -> Iterator[Line]:
    if looks:
        yield Line(last_ns, "", f"  ({looks} more commands like these, with the same answers)")


def _look(sent: SentCommand) -> object | None:
    """The command and its answers without times in it; None if it may have changed anything."""
    found = [answer.reply for answer in sent.answers.values() if answer is not None]
    if is_write(sent.command) and any(found):
        return None
    words = tuple("" if _is_number(word) else word for word in map(_text, sent.command))
    replies = tuple((zone, answer and reply_text(answer.reply)) for zone, answer in sent.answers.items())
    return sent.program, sent.zone, words, replies


def _is_number(word: str) -> bool:
    try:
        float(word.removeprefix("("))
    except ValueError:
        return False
    return True


def _answers(sent: SentCommand) -> Iterator[Line]:
    """Zones that answered the same at the same time share a line."""
    together: dict[tuple[int, str], list[str]] = {}
    for zone, answer in sent.answers.items():
        if answer is None:
            yield Line(sent.time_ns, "", f"    {zone} never answers")
        else:
            together.setdefault((answer.time_ns, reply_text(answer.reply)), []).append(zone)
    for (time_ns, reply), zones in together.items():
        yield Line(time_ns, "", f"    {', '.join(zones)} to {_name(sent.command)}: {reply}")


def _name(command: Command) -> str:
    return _text(command[0])


def command_text(command: Command) -> str:
    """Return a command on one line, long words cut."""
    return " ".join(_short(_text(word)) for word in command)


def _text(word: Argument) -> str:
    """On one line: what cannot be printed is escaped, as in ``a\\xff\\n``."""
    text = word.decode(errors="backslashreplace") if isinstance(word, bytes) else str(word)
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def reply_text(reply: Reply) -> str:
    """Return an answer on one line, long values cut; of a failure, whether the command may have been applied."""
    if isinstance(reply, ZoneFailure):
        return f"{reply} ({'may have been applied' if reply.maybe_applied else 'not applied'})"
    if isinstance(reply, ServerError):
        return str(reply)
    if isinstance(reply, list):
        return "[" + ", ".join(reply_text(item) for item in reply) + "]"
    return _short(_text(reply)) if isinstance(reply, bytes) else "nil" if reply is None else str(reply)


def _short(text: str) -> str:
    return text if len(text) <= _VALUE_CHARACTERS_MAX else text[: _VALUE_CHARACTERS_MAX - 1] + "…"
