"""The story of a small failing run: message by message, command by command, zone by zone, on one page of Markdown."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.checkers.verdict import DESCRIPTIONS, MessageClass
from analysis.history import FAULTS, FINAL_STATE, OPERATIONS
from cluster.levels import ZoneFailure
from engine.ports import Argument, Command, Reply, ServerError
from scenarios.queues import queue_under_test
from scenarios.runner import MakeQueue
from scenarios.spec import Scenario
from scenarios.tables import FAULTS_NAME, FINAL_STATE_NAME, OPERATIONS_NAME
from scenarios.trial import Trial, attempt
from scenarios.witness import Sent, Witness

LINES_MAX = 200
"""So many lines of a timeline are shown; a shrunk run has far fewer."""

MESSAGES_MAX = 3
_VALUE_CHARACTERS_MAX = 40

Line = tuple[int, str, str]
"""Run time in ns, who, what."""


def story(scenario: Scenario, message_class: MessageClass, *, make_queue: MakeQueue = queue_under_test) -> str:
    """Run ``scenario`` once more, with a witness, and tell what became of the messages that violate the class."""
    witness = Witness()
    trial = attempt(scenario, make_queue=make_queue, observe=witness.testbed)
    verdict = trial.verdict
    offenders = () if verdict is None else verdict.offenders.get(message_class, ())
    ids = list(dict.fromkeys(offender.message_id for offender in offenders))[:MESSAGES_MAX]
    begin_ns = trial.run.record.phases["load"][0]
    lines = sorted([*_faults(trial), *_operations(trial, ids), *_commands(witness, ids)], key=lambda line: line[0])
    shown = [f"{(time_ns - begin_ns) / 1e6:>12.3f}  {who:<22} {what}" for time_ns, who, what in lines[:LINES_MAX]]
    if len(lines) > LINES_MAX:
        shown.append(f"(and {len(lines) - LINES_MAX} lines more)")
    parts = [
        f"# {message_class}: {DESCRIPTIONS[message_class]}",
        _setting(scenario),
        "Times are milliseconds after the load began. Under each command stands what every zone answered, and when.",
        "```text\n" + "\n".join(shown) + "\n```",
        *(f"**{one.message_id}**: {message_class}{f' ({one.detail})' if one.detail else ''}." for one in offenders[:1]),
        "At the end:\n\n" + "\n".join(_end_state(trial, ids)),
        f"Trace hash {trial.run.trace_hash}.",
    ]
    return "\n\n".join(parts) + "\n"


def _setting(scenario: Scenario) -> str:
    faults, operations = len(scenario.faults), len(scenario.load.operations or ())
    consumers = scenario.consumers
    return (
        f"Scenario {scenario.name}, {scenario.level}, seed {scenario.seed}, zones {', '.join(scenario.zones)}: "
        f"{operations} message(s), {faults} fault(s), {consumers.per_zone} consumer(s) a zone, "
        f"link lag {scenario.links.lag}, ties broken {scenario.simulation.tie_break}."
    )


def _rows(trial: Trial, name: str, names: list[str]) -> Iterator[dict[str, Any]]:
    table = trial.tables.tables.get(name)
    for row in table.rows if table else ():
        yield dict(zip(names, row, strict=True))


def _faults(trial: Trial) -> Iterator[Line]:
    for row in _rows(trial, FAULTS_NAME, FAULTS.names):
        yield row["begin_ns"], "FAULT", f"{row['fault']} begins"
        if row["end_ns"] is not None:
            yield row["end_ns"], "FAULT", f"{row['fault']} ends"


def _operations(trial: Trial, ids: list[str]) -> Iterator[Line]:
    """The client's side of what touches the messages, and the end of each program that died."""
    for row in _rows(trial, OPERATIONS_NAME, OPERATIONS.names):
        if row["error"] == "consumer crashed":
            yield row["time_ns"], row["process"], f"dies in {row['f']}"
        elif row["message_id"] in ids:
            yield row["time_ns"], row["process"], _told(row)


def _told(row: Mapping[str, Any]) -> str:
    if row["type"] == "invoke":
        return f"{row['f']} {row['message_id']} …"
    outcome = {"ok": "done", "fail": "failed", "info": "nobody knows"}[row["type"]]
    return f"{row['f']} {row['message_id']}: {outcome}" + (f" ({row['error']})" if row["error"] else "")


def _commands(witness: Witness, ids: list[str]) -> Iterator[Line]:
    for sent in witness.commands:
        if any(_touches(sent, message_id) for message_id in ids):
            yield sent.time_ns, sent.program, f"  {_words(sent.command)}"
            yield from _answers(sent)


def _answers(sent: Sent) -> Iterator[Line]:
    """Zones that answered the same at the same time share a line."""
    together: dict[tuple[int, str], list[str]] = {}
    for zone, answer in sent.answers.items():
        if answer is None:
            yield sent.time_ns, "", f"    {zone} never answers"
        else:
            together.setdefault((answer.time_ns, _reply(answer.reply)), []).append(zone)
    for (time_ns, reply), zones in together.items():
        yield time_ns, "", f"    {', '.join(zones)} to {_name(sent.command)}: {reply}"


def _name(command: Command) -> str:
    return _text(command[0])


def _touches(sent: Sent, message_id: str) -> bool:
    """Whether the command names the message, or a zone's reply to it does."""
    replies = (answer.reply for answer in sent.answers.values() if answer is not None)
    listed = (reply for reply in replies if isinstance(reply, list))
    return message_id in sent.command or any(message_id.encode() in reply for reply in listed)


def _words(command: Command) -> str:
    return " ".join(_short(_text(word)) for word in command)


def _text(word: Argument) -> str:
    return word.decode(errors="replace") if isinstance(word, bytes) else str(word)


def _reply(reply: Reply) -> str:
    if isinstance(reply, ZoneFailure):
        return f"{reply} ({'may have been applied' if reply.maybe_applied else 'not applied'})"
    if isinstance(reply, ServerError):
        return str(reply)
    if isinstance(reply, list):
        return "[" + ", ".join(_reply(item) for item in reply) + "]"
    return (
        _short(reply.decode(errors="replace")) if isinstance(reply, bytes) else "nil" if reply is None else str(reply)
    )


def _short(text: str) -> str:
    return text if len(text) <= _VALUE_CHARACTERS_MAX else text[: _VALUE_CHARACTERS_MAX - 1] + "…"


def _end_state(trial: Trial, ids: list[str]) -> list[str]:
    held: dict[tuple[str, str], list[str]] = {}
    for row in _rows(trial, FINAL_STATE_NAME, FINAL_STATE.names):
        where = f"{row['place']} of shard {row['shard']}" if row["shard"] else row["place"]
        held.setdefault((row["message_id"], row["zone"]), []).append(where)
    return [
        f"- {message_id} in zone {zone}: {', '.join(held.get((message_id, zone), ['nothing']))}"
        for message_id in ids
        for zone in trial.scenario.zones
    ]
