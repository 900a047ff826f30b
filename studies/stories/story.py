"""The story of a small run that broke a promise: operation by operation, zone by zone, on one page of Markdown.

The events are read from the run as ``zonelab.analysis.stories`` reads one from disk; commands and each zone's answers,
which no history has, come from a ``CommandLog``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.number_text import counted
from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME, OrderKind
from zonelab.analysis.stories.access_stories import access_words, keys_of, values_held
from zonelab.analysis.stories.lines import CaseRows, Line, StorySource, fault_lines, held_in, outcome_words, table_rows
from zonelab.analysis.stories.message_stories import at_rest, final_rows
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.consistency.operations import redis_key
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.command_log import CommandLog, touches
from zonelab.scenarios.run.naming import MessageNaming
from zonelab.scenarios.run.trial import Trial, attempt
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.stories.timeline import TIMES, command_lines, timeline_block

MESSAGES_MAX = 3

ORDER_TIMES = (
    "Times are milliseconds after the load began, of answers. Renewals, and commits that change nothing, are left out. "
    "The event that shows the violation ends with ←."
)
_OUTCOMES = {"fail": "refused", "info": "nobody knows"}
_NOWHERE = "-"


def story(scenario: Scenario, violation: CaseClass, *, make_queue: MakeQueue = queue_under_test) -> str:
    """Run ``scenario`` once more, and return what became of the first cases of ``violation``."""
    if isinstance(violation, Anomaly):
        log = CommandLog()
        accesses = attempt(scenario, observe=log.testbed)
        parts = [TIMES, *_of_key(accesses, violation, log)]
        return _page(scenario, violation, violation.summary, parts, accesses.run.trace_hash)
    if isinstance(violation, Property):
        ordered = attempt(scenario, make_queue=make_queue)
        return _page(scenario, violation, violation.summary, _of_partition(ordered, violation), ordered.run.trace_hash)
    log = CommandLog()
    trial = attempt(scenario, make_queue=make_queue, observe=log.testbed)
    parts = [TIMES, *_of_messages(trial, violation, log)]
    return _page(scenario, violation, violation.summary, parts, trial.run.trace_hash)


def setting_of(scenario: Scenario) -> str:
    """Return what the run is, in a sentence."""
    faults, consumers, workload = counted(len(scenario.faults), "fault"), "", scenario.workload
    lags = [scenario.links.lag]
    if workload is None:
        poison = sorted(scenario.load.poison)
        killing = f" (poison, which kills its consumers: {', '.join(poison)})" if poison else ""
        does = counted(len(scenario.load.operations or ()), "message") + killing
        consumers = f" {counted(scenario.consumers.per_zone, 'consumer')} a zone,"
    else:
        operations = workload.operations or ()
        clients = {(one.zone, one.client) for one in operations}
        does = f"{counted(len(operations), 'operation')} of {counted(len(clients), 'client')}"
        lags += [f"{link} {lag}" for link, lag in scenario.links.overrides.items()]
    return (
        f"Scenario {scenario.name}, {scenario.level}, seed {scenario.seed}, zones {', '.join(scenario.zones)}: "
        f"{does}, {faults},{consumers} link lag {', '.join(map(str, lags))}, "
        f"ties broken {scenario.simulation.tie_break}."
    )


def _page(scenario: Scenario, violation: str, meaning: str, parts: Iterable[str], trace_hash: str) -> str:
    head = [f"# {violation}: {meaning}", setting_of(scenario)]
    return "\n\n".join([*head, *parts, f"Trace hash {trace_hash}."]) + "\n"


def _at_the_end(held: Iterable[str]) -> str:
    return "At the end:\n\n" + "\n".join(f"- {line}" for line in held)


def _of_messages(trial: Trial, violation: CaseClass, log: CommandLog) -> Iterator[str]:
    offenders = () if trial.verdict is None else trial.verdict.cases.get(violation, ())
    ids = list(dict.fromkeys(offender.message_id for offender in offenders))[:MESSAGES_MAX]
    namings = list(map(MessageNaming, ids))
    touching = (sent for sent in log.commands if touches(sent, namings))
    events = [*fault_lines(trial.recorded.faults()), *_operations(trial.recorded, ids)]
    between = [line.time_ns for line in events]
    commands = command_lines(touching, through=not trial.scenario.clients.as_usual, between=between)
    yield timeline_block([*events, *commands], begin_ns=trial.run.record.phases["load"][0])
    for one in offenders[:1]:
        yield f"**{one.message_id}**: {violation}{f' ({one.detail})' if one.detail else ''}."
    held = at_rest(final_rows(trial.recorded, ids))
    zones = trial.scenario.zones
    yield _at_the_end(f"{name} in zone {zone}: {held_in(held, name, zone)}" for name in ids for zone in zones)


def _operations(run: StorySource, ids: Sequence[str]) -> Iterator[Line]:
    """Yield what programs did with the messages, and the end of each program that died."""
    for batch in run.operations(("time_ns", "process", "f", "type", "message_id", "error")):
        for row in batch.to_pylist():
            if row["error"] == "consumer crashed":
                yield Line(row["time_ns"], row["process"], f"dies in {row['f']}")
            elif row["message_id"] in ids:
                outcome = " …" if row["type"] == "invoke" else f": {outcome_words(row)}"
                yield Line(row["time_ns"], row["process"], f"{row['f']} {row['message_id']}{outcome}", kept=True)


def _of_key(trial: Trial, anomaly: Anomaly, log: CommandLog) -> Iterator[str]:
    run, workload, zones = trial.recorded, trial.scenario.workload, trial.scenario.zones
    assert workload is not None, "only a scenario with a workload has keys"
    cases = () if trial.verdict is None else trial.verdict.cases[anomaly]
    key = cases[0].key if cases else ""
    name = redis_key(workload.kind, key)
    values = keys_of(run, [key])
    operations = [
        Line(row["time_ns"], row["process"], access_words(row, values[row["op_id"]]), kept=True)
        for batch in run.operations(("time_ns", "process", "f", "type", "op_id", "error"))
        for row in batch.to_pylist()
        if row["op_id"] in values
    ]
    through = not trial.scenario.clients.as_usual
    commands = command_lines((sent for sent in log.commands if name in sent.command), through=through)
    lines = [*fault_lines(run.faults()), *operations, *commands]
    yield timeline_block(lines, begin_ns=trial.run.record.phases["load"][0])
    if trial.verdict is not None and anomaly is Anomaly.NONLINEARIZABLE:
        for one in trial.verdict.consistency.counterexamples:
            if one.key == key:
                words = "No order of these operations is one that a register could have had:"
                yield words + "\n\n```text\n" + "\n".join(one.timeline) + "\n```"
    for case in cases[:1]:
        where = f" in zone {case.zone}" if case.zone is not None else ""
        detail = f" ({case.detail})" if case.detail else ""
        yield f"**Key {case.key}**: {anomaly.replace('_', ' ')}{where}{detail}."
    held = values_held(run, [key])
    yield _at_the_end(f"zone {zone} holds {held_in(held, key, zone)}" for zone in zones)


def _of_partition(trial: Trial, violation: Property) -> Iterator[str]:
    verdict, run = trial.verdict, trial.recorded
    cases = () if verdict is None else verdict.cases.get(violation, ())
    if not cases:
        yield "It does not break that any more."
        return
    case, begin_ns = cases[0], trial.run.record.phases["load"][0]
    kept = CaseRows(frozenset() if case.index is None else frozenset({case.index}))
    for row in _that_change_something(run, case):
        kept.add(row)
    lines = [
        Line(row["time_ns"], who, f"{what}  ←" if row["index"] == case.index else what)
        for row in kept.rows
        for who, what in [_order_words(row, begin_ns)]
    ]
    yield ORDER_TIMES
    yield timeline_block([*fault_lines(run.faults()), *lines], begin_ns=begin_ns)
    if kept.left_out:
        yield f"{kept.left_out} events in between are left out."
    what = f"{case.what}: {case.detail}" if case.detail else case.what
    placed = case.offset is not None and case.offset >= 0
    at = f"{case.message_id or 'offset'} at {case.offset}" if placed else case.message_id
    where = " ".join(filter(None, [f"in {case.partition}" if case.partition != _NOWHERE else "", at]))
    yield f"**{what}**, {where}."
    yield _at_the_end(list(_in_partition(run, case.partition)) or ["nothing"])


def _that_change_something(run: StorySource, case: Case) -> Iterator[dict[str, Any]]:
    """Yield the events that concern ``case``; of commits, those in which a cursor moves or has another owner."""
    moved: dict[str, tuple[Any, ...]] = {}
    for row in table_rows(run, ORDER_NAME, ORDER):
        if not _concerns(row, case):
            continue
        moves = (row["member"], row["cursor"], row["outcome"])
        again = row["kind"] == OrderKind.COMMIT and moved.get(row["partition"]) == moves
        if row["kind"] == OrderKind.COMMIT:
            moved[row["partition"]] = moves
        renews = row["kind"] == OrderKind.RENEW and row["outcome"] == "ok"
        if row["index"] == case.index or not (again or renews):
            yield row


def _concerns(row: Mapping[str, Any], case: Case) -> bool:
    if case.partition == _NOWHERE or row["partition"] in (None, case.partition):
        return True
    return bool(case.message_id) and row["message_id"] == case.message_id


def _order_words(row: Mapping[str, Any], begin_ns: int) -> tuple[str, str]:
    """Return the program or zone of an event, and what happened."""
    parts = [row["kind"], row["partition"] or ""]
    if row["offset"] is not None:
        parts.append(f"{row['message_id'] or 'cursor'} at {row['offset']}")
    elif row["message_id"] is not None:
        parts.append(row["message_id"])
    if row["attempt"] is not None:
        parts.append(f"attempt {row['attempt']}")
    if row["cursor"] is not None:
        parts.append(f"to cursor {row['cursor']}")
    if row["token"] is not None:
        parts.append(f"under {row['generation'] or 0}.{row['token']}")
    if row["until_ns"] is not None:
        parts.append(f"until {(row['until_ns'] - begin_ns) / NS_PER_MS:.3f}")
    parts += [_OUTCOMES.get(row["outcome"] or "", ""), f"({row['status']})" if row["status"] else ""]
    return row["member"] or row["producer"] or row["zone"] or "", " ".join(filter(None, parts))


def _in_partition(run: StorySource, partition: str) -> Iterator[str]:
    """Yield for each place and zone which messages are there, and at which offsets."""
    held: dict[tuple[str, str], list[str]] = {}
    for row in table_rows(run, FINAL_ORDER_NAME, FINAL_ORDER):
        if partition in (_NOWHERE, row["partition"]):
            of_group = f" of {row['group']}" if row["group"] else ""
            where = f" in zone {row['zone']}" if row["zone"] else ""
            what = row["message_id"] or ""
            at = str(row["offset"]) if row["offset"] >= 0 else ""
            held.setdefault((row["place"], f"{row['place']}{of_group}{where}"), []).append(f"{at} {what}".strip())
    for (_, name), what in held.items():
        yield f"{name}: {', '.join(what)}"
