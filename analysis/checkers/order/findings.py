"""Cases of the properties while they are found: how many of each there are, and the first of them in words."""

from collections import Counter
from collections.abc import Callable

import numpy as np

from zonelab.analysis.checkers.findings import Findings
from zonelab.analysis.checkers.judgement import FIRST_CASES, Case
from zonelab.analysis.checkers.order.properties import HARMLESS, Property
from zonelab.analysis.checkers.order.rows import Books, Ints, Rows, StringNumbers


class OrderFindings(Findings):
    """``sorts``: how many cases there are by property and sort. ``opportunities``: to break each property.

    ``counts`` has all cases but the harmless ones of I6.
    """

    def __init__(self, books: Books) -> None:
        super().__init__()
        self.books = books
        self.sorts: Counter[tuple[Property, str]] = Counter()
        self.opportunities: Counter[Property] = Counter()
        self._messages = StringNumbers()
        self._ids: list[str] | None = None

    def judging(self, messages: StringNumbers) -> None:
        """From now on rows are of a part with these ids of messages."""
        self._messages, self._ids = messages, None

    def add(self, name: Property, what: str, rows: Rows, detail: Callable[[int], str] | None = None) -> None:
        """A case for every row; ``detail`` says what there is to say of the row with that number."""
        if not len(rows):
            return
        self._count(name, what, len(rows))
        first = np.argsort(rows.index, kind="stable")[:FIRST_CASES].tolist()
        self.keep(name, (self._case(what, rows, row, "" if detail is None else detail(row)) for row in first))

    def add_at_rest(self, name: Property, what: str, partition: int, group: int, offset: int, detail: str) -> None:
        """A case that no event shows."""
        self._count(name, what, 1)
        where = self.books.text("group", group), self.books.text("partition", partition)
        self.keep(name, [Case(what=what, group=where[0], partition=where[1], offset=offset, detail=detail)])

    def add_many_at_rest(self, name: Property, what: str, partition: Ints, group: Ints, offset: Ints) -> None:
        """Count a case for every row, and keep the first of them as examples."""
        for row in range(min(len(offset), FIRST_CASES)):
            self.add_at_rest(name, what, int(partition[row]), int(group[row]), int(offset[row]), "")
        if len(offset) > FIRST_CASES:
            self._count(name, what, len(offset) - FIRST_CASES)

    def exercised(self, name: Property, times: int) -> None:
        self.opportunities[name] += int(times)

    def _count(self, name: Property, what: str, cases: int) -> None:
        self.sorts[name, what] += cases
        self.count(name, 0 if what == HARMLESS else cases)

    def _case(self, what: str, rows: Rows, row: int, detail: str) -> Case:
        return Case(
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
