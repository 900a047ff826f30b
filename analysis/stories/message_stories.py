"""Stories of the messages that violate something: pushes, deliveries, leases, acks, faults, and who holds what.

Everything is read from the tables of the run, in one pass, whether they are on disk or in memory. Commands and each
zone's answers are not in a history; ``zonelab shrink`` adds them, in simulation.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.stories.lease_ends import LeaseEnds, delivery_of
from zonelab.analysis.stories.lines import (
    CLOCK,
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
from zonelab.analysis.stories.program_paths import program_lines
from zonelab.analysis.units import NS_PER_S

_COLUMNS = (
    *("index", "time_ns", "process", "f", "type", "op_id", "message_id"),
    *("shard", "delivery", "due_ms", "lease_end_ms", "error"),
)


def message_stories(run: StorySource, cases: Mapping[str, Sequence[Case]]) -> dict[str, tuple[Story, ...]]:
    """Return stories of the first messages of each class, or property of order, that has cases. Raises ``RunError``.

    A case that names no message, as of a cursor that fell, has none.
    """
    chosen = {str(name): _first_messages(found) for name, found in cases.items()}
    telling: dict[str, set[int]] = defaultdict(set)
    for offenders in chosen.values():
        for one in offenders:
            telling[one.subject] |= set() if one.operation_index is None else {one.operation_index}
    tell = _MessageTeller.of(run, telling)
    return {
        name: tuple(tell.story(one.subject, detail=one.words, telling={one.operation_index}) for one in found)
        for name, found in chosen.items()
        if found
    }


def message_story(run: StorySource, message_id: str, *, telling: Collection[int]) -> Story:
    """Return what became of one message; events with an index in ``telling`` are marked. Raises ``RunError``.

    It has no lines if no event names the message.
    """
    return _MessageTeller.of(run, {message_id: set(telling)}).story(message_id, detail="", telling=telling)


def at_rest(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """Return the places of each message at the end, by message and zone; ``rows`` of
    ``zonelab.analysis.runs.history.FINAL_STATE``.
    """
    held: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        where = f"{row['place']} of shard {row['shard']}" if row["shard"] else row["place"]
        held.setdefault((row["message_id"], row["zone"]), []).append(where)
    return held


def _first_messages(offenders: Sequence[Case]) -> list[Case]:
    by_id: dict[str, Case] = {}
    for one in offenders:
        if one.message_id:
            by_id.setdefault(one.message_id, one)
    return list(by_id.values())[:STORIES_MAX]


def _events(run: StorySource, telling: Mapping[str, set[int]]) -> dict[str, CaseRows]:
    """Return the history rows of each message of ``telling``, which has the events that must not be left out."""
    kept = {message_id: CaseRows(frozenset(indexes)) for message_id, indexes in telling.items()}
    for row in rows_with(run.operations(_COLUMNS, messages=kept), "message_id", kept):
        kept[row["message_id"]].add(row)
    return kept


def final_rows(run: StorySource, ids: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the end state that are about the messages ``ids``."""
    yield from rows_with(run.final_state(("zone", "shard", "place", "message_id")), "message_id", ids)


@dataclass(frozen=True, slots=True)
class _MessageTeller:
    """Tells stories of one run."""

    run: StorySource
    faults: Sequence[FaultBand]
    events: Mapping[str, CaseRows]
    held: Mapping[tuple[str, str], list[str]]

    @classmethod
    def of(cls, run: StorySource, telling: Mapping[str, set[int]]) -> Self:
        """``telling``: for each message to tell of, its events that must not be left out."""
        return cls(run, run.faults(), _events(run, telling), at_rest(final_rows(run, telling)))

    def story(self, message_id: str, *, detail: str, telling: Collection[int | None]) -> Story:
        kept = self.events[message_id]
        return Story(
            subject=message_id,
            detail=detail,
            lines=with_faults(self._lines(kept.rows, telling), self.faults),
            left_out=kept.left_out,
            at_rest=tuple(places_of(self.run, self.held, message_id)),
        )

    def _lines(self, rows: Sequence[Mapping[str, Any]], telling: Collection[int | None]) -> Iterator[Line]:
        for row in rows:
            yield Line(row["time_ns"], row["process"], self._words(row), row["index"] in telling)
        yield from self._due(rows)
        yield from self._lease_ends(rows)
        yield from program_lines(self.run, str(rows[0]["message_id"]), rows) if rows else ()

    def _words(self, row: Mapping[str, Any]) -> str:
        of = (
            f" of delivery {row['delivery']}" if row["f"] not in ("push", "pop") and row["delivery"] is not None else ""
        )
        if row["type"] == "invoke":
            return f"{row['f']}{of} …"
        words = f"{row['f']}{of}: {outcome_words(row)}"
        if row["f"] == "pop" and row["type"] == "ok":
            words = f"pop: gets it, delivery {delivery_of(row)}"
        if row["f"] == "push" and row["due_ms"] is not None:
            words += f"; due at {self._seconds(row['due_ms'])} s"
        leased = row["f"] != "ack" and row["lease_end_ms"] is not None
        return words + (f"; lease until {self._seconds(row['lease_end_ms'])} s" if leased else "")

    def _due(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
        """Yield the due time, if it came after the push that the queue confirmed."""
        for row in rows:
            if row["f"] == "push" and row["type"] == "ok" and row["due_ms"] is not None:
                due_ns = self.run.info.run_ns(row["due_ms"])
                if due_ns > row["time_ns"]:
                    yield Line(due_ns, CLOCK, "it is due")
                return

    def _lease_ends(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
        ends = LeaseEnds(self.run.info)
        for row in rows:
            ends.note(row)
        for one in ends.over():
            yield Line(one.time_ns, CLOCK, f"the lease of delivery {one.delivery} ends")

    def _seconds(self, wall_ms: int) -> str:
        return f"{self.run.info.run_ns(wall_ms) / NS_PER_S:.3f}"
