"""The story of a small run that broke an order: what programs did in one partition, event by event, on one page."""

from collections.abc import Iterator, Mapping
from typing import Any

from zonelab.analysis.checkers.order.findings import OrderCase
from zonelab.analysis.checkers.order.properties import MEANINGS, Property
from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME, OrderKind
from zonelab.analysis.stories.lines import Kept, Line
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.run_files.tables import MemoryTables, rows
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.stories.queue_story import setting_of
from zonelab.studies.stories.timeline import lines_of_faults, timeline_block

_TIMES = (
    "Times are milliseconds after the load began, of answers. Renewals, and commits that change nothing, are left out. "
    "The event that shows the violation ends with ←."
)
_OUTCOMES = {"fail": "refused", "info": "nobody knows"}
_NOWHERE = "-"


def order_story(scenario: Scenario, violation: Property, *, make_queue: MakeQueue = queue_under_test) -> str:
    """Run ``scenario`` once more, and tell what happened in the partition of the first case of ``violation``."""
    trial = attempt(scenario, make_queue=make_queue)
    verdict = trial.verdict
    cases = () if verdict is None or verdict.order is None else verdict.order.cases.get(violation, ())
    begin_ns = trial.run.record.phases["load"][0]
    told = [_case(trial.tables, case, begin_ns=begin_ns) for case in cases[:1]]
    parts = [
        f"# {violation}: {MEANINGS[violation]}",
        setting_of(scenario),
        *(told or ["It does not break that any more."]),
        f"Trace hash {trial.run.trace_hash}.",
    ]
    return "\n\n".join(parts) + "\n"


def _case(tables: MemoryTables, case: OrderCase, *, begin_ns: int) -> str:
    kept = Kept(frozenset({case.index}))
    for row in _that_change_something(tables, case):
        kept.add(row)
    lines = [Line(row["time_ns"], *_words(row, begin_ns), row["index"] == case.index) for row in kept.rows]
    shown = [line._replace(what=f"{line.what}  ←") if line.telling else line for line in lines]
    left_out = f"\n\n{kept.left_out} events in between are left out." if kept.left_out else ""
    what = f"{case.what}: {case.detail}" if case.detail else case.what
    at = f"{case.message_id or 'offset'} at {case.offset}" if case.offset >= 0 else case.message_id
    where = " ".join(filter(None, [f"in {case.partition}" if case.partition != _NOWHERE else "", at]))
    block = timeline_block([*lines_of_faults(tables), *shown], begin_ns=begin_ns)
    rest = "\n".join(_at_rest(tables, case.partition)) or "- nothing"
    return f"{_TIMES}\n\n{block}{left_out}\n\n**{what}**, {where}.\n\nAt the end:\n\n{rest}"


def _that_change_something(tables: MemoryTables, case: OrderCase) -> Iterator[dict[str, Any]]:
    """The events that concern ``case``. A cursor is told when its owner moves it, or another one does."""
    told: dict[str, tuple[Any, ...]] = {}
    for row in rows(tables, ORDER_NAME, ORDER.names):
        if not _concerns(row, case):
            continue
        moves = (row["member"], row["cursor"], row["outcome"])
        again = row["kind"] == OrderKind.COMMIT and told.get(row["partition"]) == moves
        if row["kind"] == OrderKind.COMMIT:
            told[row["partition"]] = moves
        renews = row["kind"] == OrderKind.RENEW and row["outcome"] == "ok"
        if row["index"] == case.index or not (again or renews):
            yield row


def _concerns(row: Mapping[str, Any], case: OrderCase) -> bool:
    if case.partition == _NOWHERE or row["partition"] in (None, case.partition):
        return True
    return bool(case.message_id) and row["message_id"] == case.message_id


def _words(row: Mapping[str, Any], begin_ns: int) -> tuple[str, str]:
    """Who it is about, and what happened."""
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


def _at_rest(tables: MemoryTables, partition: str) -> Iterator[str]:
    """A line for each place and zone: which messages are there, and at which offsets."""
    held: dict[tuple[str, str], list[str]] = {}
    for row in rows(tables, FINAL_ORDER_NAME, FINAL_ORDER.names):
        if partition in (_NOWHERE, row["partition"]):
            of_group = f" of {row['group']}" if row["group"] else ""
            where = f" in zone {row['zone']}" if row["zone"] else ""
            what = row["message_id"] or ""
            at = str(row["offset"]) if row["offset"] >= 0 else ""
            held.setdefault((row["place"], f"{row['place']}{of_group}{where}"), []).append(f"{at} {what}".strip())
    for (_, name), what in held.items():
        yield f"- {name}: {', '.join(what)}"
