"""Stories of the keys that show an anomaly: who wrote what, who read what, and what the zones hold at rest."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.runs.accesses import FINAL_VALUES, FINAL_VALUES_NAME, VALUES, VALUES_NAME
from zonelab.analysis.stories.lines import (
    STORIES_MAX,
    CaseRows,
    Line,
    Story,
    StorySource,
    outcome_words,
    places_of,
    rows_with,
    with_faults,
)

_COLUMNS = ("index", "time_ns", "process", "f", "type", "op_id", "error")


def access_stories(run: StorySource, found: Mapping[str, Sequence[Case]]) -> dict[Anomaly, tuple[Story, ...]]:
    """Return stories of the first cases of each anomaly of ``found``. Raises ``RunError``."""
    chosen = {name: found[name][:STORIES_MAX] for name in Anomaly if found.get(name)}
    cases = list(dict.fromkeys(case for found in chosen.values() for case in found))
    keys = {case.key for case in cases}
    values = keys_of(run, keys)
    spans = _spans(run, cases)
    kept = {case: CaseRows(telling) for case, (_, _, telling) in spans.items()}
    for row in _events(run, values):
        for case, (first, last, _) in spans.items():
            if values[row["op_id"]]["key"] == case.key and first <= row["index"] <= last:
                kept[case].add(row)
    tell = _AccessTeller(run, kept, values, values_held(run, keys))
    return {name: tuple(tell.story(case) for case in cases_of_it) for name, cases_of_it in chosen.items()}


def access_words(row: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """Return an event in words; ``value``: its row of ``zonelab.analysis.runs.accesses.VALUES``."""
    wanted = " ".join([row["f"], *([value["argument"]] if value["argument"] is not None else [])])
    if row["f"] == "cas":
        wanted += f" if {_shown(value['expected'])}"
    if row["type"] == "invoke":
        return f"{wanted} …"
    if row["type"] != "ok":
        return f"{wanted}: {outcome_words(row)}"
    return f"{wanted}: {_answer(row['f'], value)}"


def _answer(f: str, value: Mapping[str, Any]) -> str:
    if f == "members":
        return ", ".join(value["members"]) or "none"
    if f in ("read", "next", "pop"):
        return _shown(value["result"])
    return "refused" if value["applied"] is False else "done"


def _shown(value: str | None) -> str:
    return "nil" if value is None else value


def keys_of(run: StorySource, keys: Iterable[str]) -> dict[int, dict[str, Any]]:
    """Return the rows of ``zonelab.analysis.runs.accesses.VALUES`` that are about ``keys``, by operation."""
    return {row["op_id"]: row for row in _of_keys(run, VALUES_NAME, VALUES, keys)}


def values_held(run: StorySource, keys: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """Return the values at the end, by key and zone."""
    held: dict[tuple[str, str], list[str]] = {}
    for row in _of_keys(run, FINAL_VALUES_NAME, FINAL_VALUES, keys):
        held.setdefault((row["key"], row["zone"]), []).append(row["value"])
    return held


def _end_is_known(run: StorySource) -> bool:
    return run.info.workload is None or run.info.workload.end_state


def _of_keys(run: StorySource, name: str, schema: pa.Schema, keys: Iterable[str]) -> Iterator[dict[str, Any]]:
    if wanted := list(keys):
        table = run.table(name, schema)
        yield from () if table is None else rows_with(table.to_batches(), "key", wanted)


def _events(run: StorySource, ops: Iterable[int]) -> Iterator[dict[str, Any]]:
    return rows_with(run.operations(_COLUMNS), "op_id", ops)


def _spans(run: StorySource, cases: Sequence[Case]) -> dict[Case, tuple[int, int, frozenset[int]]]:
    """From which event to which a case is told, and the ends of the operations that show it; all events if none do."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for row in _events(run, {op for case in cases for op in case.ops}):
        first.setdefault(row["op_id"], row["index"])
        last[row["op_id"]] = row["index"]
    spans = {}
    for case in cases:
        ops = [op for op in case.ops if op in first]
        begin, end = (min(first[op] for op in ops), max(last[op] for op in ops)) if ops else (0, 2**62)
        spans[case] = begin, end, frozenset(last[op] for op in ops)
    return spans


@dataclass(frozen=True, slots=True)
class _AccessTeller:
    """Tells stories of one run."""

    run: StorySource
    kept: Mapping[Case, CaseRows]
    values: Mapping[int, Mapping[str, Any]]
    held: Mapping[tuple[str, str], Sequence[str]]

    def story(self, case: Case) -> Story:
        kept = self.kept[case]
        zone = f"zone {case.zone}" if case.zone is not None else ""
        lines = [
            Line(
                row["time_ns"],
                row["process"],
                access_words(row, self.values[row["op_id"]]),
                row["index"] in kept.telling,
            )
            for row in kept.rows
        ]
        return Story(
            subject=case.subject,
            detail=": ".join(part for part in (zone, case.detail) if part),
            lines=with_faults(lines, self.run.faults()),
            left_out=kept.left_out,
            at_rest=tuple(places_of(self.run, self.held, case.key)) if _end_is_known(self.run) else (),
        )
