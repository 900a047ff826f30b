"""The story of a small run that shows an anomaly: operation by operation, command by command, zone by zone."""

from collections.abc import Iterator

from zonelab.analysis.checkers.consistency.verdict import MEANINGS, Anomaly, Case
from zonelab.analysis.runs.accesses import FINAL_VALUES, FINAL_VALUES_NAME, VALUES, VALUES_NAME
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.stories.access_stories import access_words
from zonelab.analysis.stories.lines import Line
from zonelab.scenarios.consistency.operations import redis_key
from zonelab.scenarios.run.trial import AccessTrial, attempt_accesses
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, rows
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.stories.command_log import CommandLog, Sent
from zonelab.studies.stories.timeline import TIMES, command_lines, lines_of_faults, timeline_block


def access_story(scenario: Scenario, anomaly: Anomaly) -> str:
    """Run ``scenario`` of a workload once more, with a command log, and tell what became of the first case's key."""
    log = CommandLog()
    trial = attempt_accesses(scenario, observe=log.testbed)
    cases = () if trial.verdict is None else trial.verdict.cases[anomaly]
    key = cases[0].key if cases else ""
    told = command_lines(_about(trial, log, key), through=not scenario.clients.as_usual)
    lines = [*lines_of_faults(trial.tables), *_operations(trial, key), *told]
    parts = [
        f"# {anomaly}: {MEANINGS[anomaly]}",
        _setting(scenario),
        TIMES,
        timeline_block(lines, begin_ns=trial.run.record.phases["load"][0]),
        *_pictures(trial, key, anomaly),
        *(_verdict(one, anomaly) for one in cases[:1]),
        "At the end:\n\n" + "\n".join(_held(trial, key)),
        f"Trace hash {trial.run.trace_hash}.",
    ]
    return "\n\n".join(parts) + "\n"


def _setting(scenario: Scenario) -> str:
    operations = (scenario.workload and scenario.workload.operations) or ()
    clients = len({(one.zone, one.client) for one in operations})
    overrides = "".join(f", {link} {lag}" for link, lag in scenario.links.overrides.items())
    return (
        f"Scenario {scenario.name}, {scenario.level}, seed {scenario.seed}, zones {', '.join(scenario.zones)}: "
        f"{len(operations)} operation(s) of {clients} client(s), {len(scenario.faults)} fault(s), "
        f"link lag {scenario.links.lag}{overrides}, ties broken {scenario.simulation.tie_break}."
    )


def _operations(trial: AccessTrial, key: str) -> Iterator[Line]:
    values = {row["op_id"]: row for row in rows(trial.tables, VALUES_NAME, VALUES.names) if row["key"] == key}
    for row in rows(trial.tables, OPERATIONS_NAME, OPERATIONS.names):
        value = values.get(row["op_id"])
        if value is not None:
            yield Line(row["time_ns"], row["process"], access_words(row, value), kept=True)


def _about(trial: AccessTrial, log: CommandLog, key: str) -> Iterator[Sent]:
    assert trial.scenario.workload is not None, "only a scenario with a workload has keys"
    name = redis_key(trial.scenario.workload.kind, key)
    return (sent for sent in log.commands if name in sent.command)


def _pictures(trial: AccessTrial, key: str, anomaly: Anomaly) -> Iterator[str]:
    if trial.verdict is None or anomaly is not Anomaly.NONLINEARIZABLE:
        return
    for one in trial.verdict.counterexamples:
        if one.key == key:
            words = "No order of these operations is one that a register could have had:"
            yield words + "\n\n```text\n" + "\n".join(one.timeline) + "\n```"


def _verdict(case: Case, anomaly: Anomaly) -> str:
    where = f" in zone {case.zone}" if case.zone is not None else ""
    return f"**Key {case.key}**: {anomaly.replace('_', ' ')}{where}" + (f" ({case.detail})." if case.detail else ".")


def _held(trial: AccessTrial, key: str) -> list[str]:
    held: dict[str, list[str]] = {}
    for row in rows(trial.tables, FINAL_VALUES_NAME, FINAL_VALUES.names):
        if row["key"] == key:
            held.setdefault(row["zone"], []).append(row["value"])
    return [f"- zone {zone} holds {', '.join(held.get(zone, ['nothing']))}" for zone in trial.scenario.zones]
