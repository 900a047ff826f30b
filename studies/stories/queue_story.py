"""The story of a small failing run: message by message, command by command, zone by zone, on one page of Markdown."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from zonelab.analysis.checkers.verdict import MEANING_OF, Broken
from zonelab.analysis.runs.history import FINAL_STATE, OPERATIONS
from zonelab.analysis.stories.lines import Line, outcome_words
from zonelab.analysis.stories.message_stories import at_rest
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.trial import QueueTrial, attempt
from zonelab.scenarios.run_files.tables import FINAL_STATE_NAME, OPERATIONS_NAME, rows
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.stories.command_log import CommandLog, Sent
from zonelab.studies.stories.timeline import TIMES, command_lines, lines_of_faults, timeline_block

MESSAGES_MAX = 3


def story(scenario: Scenario, violation: Broken, *, make_queue: MakeQueue = queue_under_test) -> str:
    """Run ``scenario`` once more, with a command log, and tell what became of the messages that violate the class."""
    log = CommandLog()
    trial = attempt(scenario, make_queue=make_queue, observe=log.testbed)
    verdict = trial.verdict
    offenders = () if verdict is None else verdict.offenders.get(violation, ())
    ids = list(dict.fromkeys(offender.message_id for offender in offenders))[:MESSAGES_MAX]
    begin_ns = trial.run.record.phases["load"][0]
    namings = [_naming(one) for one in ids]
    touching = (sent for sent in log.commands if any(_touches(sent, one) for one in namings))
    events = [*lines_of_faults(trial.tables), *_operations(trial, ids)]
    between = [line.time_ns for line in events]
    told = command_lines(touching, through=not scenario.clients.as_usual, between=between)
    parts = [
        f"# {violation}: {MEANING_OF[violation]}",
        setting_of(scenario),
        TIMES,
        timeline_block([*events, *told], begin_ns=begin_ns),
        *(f"**{one.message_id}**: {violation}{f' ({one.detail})' if one.detail else ''}." for one in offenders[:1]),
        "At the end:\n\n" + "\n".join(_end_state(trial, ids)),
        f"Trace hash {trial.run.trace_hash}.",
    ]
    return "\n\n".join(parts) + "\n"


def setting_of(scenario: Scenario) -> str:
    """What the run is, in a sentence."""
    faults, operations = len(scenario.faults), len(scenario.load.operations or ())
    consumers, poison = scenario.consumers, sorted(scenario.load.poison)
    killing = f" (poison, which kills its consumers: {', '.join(poison)})" if poison else ""
    return (
        f"Scenario {scenario.name}, {scenario.level}, seed {scenario.seed}, zones {', '.join(scenario.zones)}: "
        f"{operations} message(s){killing}, {faults} fault(s), {consumers.per_zone} consumer(s) a zone, "
        f"link lag {scenario.links.lag}, ties broken {scenario.simulation.tie_break}."
    )


def _operations(trial: QueueTrial, ids: list[str]) -> Iterator[Line]:
    """The client's side of what touches the messages, and the end of each program that died."""
    for row in rows(trial.tables, OPERATIONS_NAME, OPERATIONS.names):
        if row["error"] == "consumer crashed":
            yield Line(row["time_ns"], row["process"], f"dies in {row['f']}")
        elif row["message_id"] in ids:
            yield Line(row["time_ns"], row["process"], _words(row), kept=True)


def _words(row: Mapping[str, Any]) -> str:
    if row["type"] == "invoke":
        return f"{row['f']} {row['message_id']} …"
    return f"{row['f']} {row['message_id']}: {outcome_words(row)}"


def _naming(message_id: str) -> re.Pattern[bytes]:
    """Finds the id by itself or within a longer value, such as a record, but not at the beginning of a longer id."""
    return re.compile(rb"(?<![\w-])" + re.escape(message_id.encode()) + rb"(?![\w-])")


def _touches(sent: Sent, naming: re.Pattern[bytes]) -> bool:
    """Whether the command names the message, or a zone's reply to it does."""
    replies = (answer.reply for answer in sent.answers.values() if answer is not None)
    return any(_named(value, naming) for value in (*sent.command, *replies))


def _named(value: Any, naming: re.Pattern[bytes]) -> bool:
    if isinstance(value, list | tuple):
        return any(_named(one, naming) for one in value)
    text = value.encode() if isinstance(value, str) else value
    return isinstance(text, bytes) and naming.search(text) is not None


def _end_state(trial: QueueTrial, ids: list[str]) -> list[str]:
    held = at_rest(rows(trial.tables, FINAL_STATE_NAME, FINAL_STATE.names))
    return [
        f"- {message_id} in zone {zone}: {', '.join(held.get((message_id, zone), ['nothing']))}"
        for message_id in ids
        for zone in trial.scenario.zones
    ]
