"""Cases of the properties while they are found: how many of each there are, and the first of them in words."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from zonelab.analysis.checkers.judgement import FIRST_OFFENDERS
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.order.rows import Books, Ints, Names, Rows


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderCase:
    """One case: ``what`` names its sort within the property. ``index``: the event in the table of order that shows it;
    -1 if it shows at rest only. ``group`` and ``partition`` are ``-`` where it concerns none; ``message_id`` is empty
    where no event names a message.
    """

    what: str
    group: str
    partition: str
    offset: int
    index: int = -1
    message_id: str = ""
    detail: str = ""


@dataclass(slots=True)
class Findings:
    """``sorts``: how many cases there are by property and sort. ``opportunities``: to break each property."""

    books: Books
    sorts: Counter[tuple[Property, str]] = field(default_factory=Counter)
    opportunities: Counter[Property] = field(default_factory=Counter)
    _first: dict[Property, list[OrderCase]] = field(default_factory=dict)
    _messages: Names = field(default_factory=Names)
    _ids: list[str] | None = None

    def judging(self, messages: Names) -> None:
        """From now on rows are of a part with these ids of messages."""
        self._messages, self._ids = messages, None

    def add(self, name: Property, what: str, rows: Rows, detail: Callable[[int], str] | None = None) -> None:
        """A case for every row; ``detail`` says what there is to say of the row with that number."""
        if not len(rows):
            return
        self.sorts[name, what] += len(rows)
        for row in np.argsort(rows.index, kind="stable")[:FIRST_OFFENDERS].tolist():
            self._keep(name, self._case(what, rows, row, "" if detail is None else detail(row)))

    def add_at_rest(self, name: Property, what: str, partition: int, group: int, offset: int, detail: str) -> None:
        """A case that no event shows."""
        self.sorts[name, what] += 1
        where = self.books.text("group", group), self.books.text("partition", partition)
        self._keep(name, OrderCase(what=what, group=where[0], partition=where[1], offset=offset, detail=detail))

    def add_many_at_rest(self, name: Property, what: str, partition: Ints, group: Ints, offset: Ints) -> None:
        """Count a case for every row, and keep the first of them as examples."""
        for row in range(min(len(offset), FIRST_OFFENDERS)):
            self.add_at_rest(name, what, int(partition[row]), int(group[row]), int(offset[row]), "")
        if len(offset) > FIRST_OFFENDERS:
            self.sorts[name, what] += len(offset) - FIRST_OFFENDERS

    def exercised(self, name: Property, times: int) -> None:
        self.opportunities[name] += int(times)

    def first(self) -> Mapping[str, tuple[OrderCase, ...]]:
        return {str(name): tuple(self._first[name]) for name in Property if name in self._first}

    def _case(self, what: str, rows: Rows, row: int, detail: str) -> OrderCase:
        return OrderCase(
            what=what,
            group=self.books.text("group", int(rows.group[row])),
            partition=self.books.text("partition", int(rows.partition[row])),
            offset=int(rows.offset[row]),
            index=int(rows.index[row]),
            message_id=self._id(int(rows.message_id[row])),
            detail=detail,
        )

    def _id(self, code: int) -> str:
        if self._ids is None:
            self._ids = self._messages.texts()
        return self._ids[code] if code >= 0 else ""

    def _keep(self, name: Property, case: OrderCase) -> None:
        known = [*self._first.get(name, ()), case]
        self._first[name] = sorted(known, key=lambda one: (one.index, one.partition, one.offset))[:FIRST_OFFENDERS]
