"""Every message of a part as each group saw it: when it could be in the log, was first begun, and was finished."""

from dataclasses import dataclass

import numpy as np

from zonelab.analysis.checkers.order.intervals import first_of_each, latest_before, least
from zonelab.analysis.checkers.order.rows import BITS, INFO, OK, Books, Ints, Rows
from zonelab.analysis.runs.order import OrderKind

NEVER = 2**62
PUT_ASIDE = (OrderKind.DEAD_LETTER, OrderKind.PARK, OrderKind.SKIP)
SUCCESSES = ("success", "commit")
FAILURES = ("suspend", "error")


def ends_with(rows: Rows, statuses: tuple[str, ...], books: Books) -> Rows:
    """The ends of deliveries with one of ``statuses``."""
    ends = rows.of_kind(OrderKind.END)
    return ends.where(np.isin(ends.status, [books.code("status", one) for one in statuses]))


@dataclass(frozen=True, slots=True)
class OrderMessages:
    """One row a message and place, sorted by unit, epoch and offset; -1 for what is unknown.

    ``appended_ns``: its append was confirmed. ``started_ns``, ``disposed_ns``: first begun; finished, or put aside:
    the earliest moment at which that can have been; NEVER if it was not. ``before``: the row of the one in front of it
    in its unit, -1 if it is the first.
    """

    place: Ints
    group: Ints
    partition: Ints
    epoch: Ints
    offset: Ints
    key: Ints
    unit: Ints
    appended_ns: Ints
    started_ns: Ints
    disposed_ns: Ints
    before: Ints

    def __len__(self) -> int:
        return len(self.place)

    @property
    def message(self) -> Ints:
        return self.place << BITS | self.offset

    def row_of(self, message: Ints) -> Ints:
        """The row of each (place, offset); -1 if it is not known."""
        order = np.argsort(self.message, kind="stable")
        known = self.message[order]
        at = np.minimum(np.searchsorted(known, message), max(len(known) - 1, 0))
        return np.where(known[at] == message, order[at], -1) if len(known) else np.full(len(message), -1)


def messages_of(rows: Rows, log: Rows, places: Ints, books: Books, *, by_key: bool) -> OrderMessages:
    """``log``: the decided logs at rest. ``places``: of the run. ``by_key``: messages are in order by key, not by
    partition.
    """
    known = _known(rows, log, places)
    place, offset = known.place, known.offset
    message = known.message
    produced = rows.of_kind(OrderKind.PRODUCE, outcomes=(OK,))
    starts = rows.of_kind(OrderKind.START)
    succeeded = ends_with(rows, SUCCESSES, books)
    aside = rows.of_kind(*PUT_ASIDE, outcomes=(OK, INFO))
    disposed = np.concatenate([succeeded.message, aside.message])
    disposed_ns = np.concatenate([succeeded.time_ns, aside.invoke_ns])
    unit = (known.group << BITS) + known.key + 1 if by_key else place
    order = np.lexsort((known.index, offset, known.epoch, unit))
    first = first_of_each(unit[order])
    return OrderMessages(
        place=place[order],
        group=known.group[order],
        partition=known.partition[order],
        epoch=known.epoch[order],
        offset=offset[order],
        key=known.key[order],
        unit=unit[order],
        appended_ns=least(produced.spot, produced.time_ns, known.spot[order], otherwise=-1),
        started_ns=least(starts.message, starts.time_ns, message[order], otherwise=NEVER),
        disposed_ns=least(disposed, disposed_ns, message[order], otherwise=NEVER),
        before=np.where(first, -1, np.arange(len(order)) - 1),
    )


def _known(rows: Rows, log: Rows, places: Ints) -> Rows:
    """A row for every message that was confirmed, is in the log or was begun, for each place of its partition."""
    appended = rows.of_kind(OrderKind.PRODUCE, outcomes=(OK,))
    parts = [rows.of_kind(OrderKind.START), _for_each_place(appended, places), _for_each_place(log, places)]
    together = Rows(*(np.concatenate([getattr(one, name) for one in parts]) for name in Rows.__slots__))
    _, kept = np.unique(together.message, return_index=True)
    return _with_epochs(together.where(kept))


def _for_each_place(appended: Rows, places: Ints) -> Rows:
    """A row for each place of the partition that a message was appended to."""
    appended = appended.where(appended.offset >= 0)
    groups, partitions = places >> BITS, places & ((1 << BITS) - 1)
    order = np.argsort(partitions, kind="stable")
    since, until = (np.searchsorted(partitions[order], appended.partition, side=side) for side in ("left", "right"))
    times = until - since
    copies = appended.where(np.repeat(np.arange(len(appended)), times))
    nth = np.arange(len(copies)) - np.repeat(np.cumsum(times) - times, times)
    place = order[np.repeat(since, times) + nth]
    copies.place[:], copies.group[:] = place, groups[place]
    return copies


def _with_epochs(known: Rows) -> Rows:
    """Give records that only logs at rest show, which have no epochs, the latest epoch of their partition."""
    _, which = np.unique(known.place, return_inverse=True)
    latest = np.zeros(len(known) + 1, dtype=known.epoch.dtype)
    np.maximum.at(latest, which, known.epoch)
    known.epoch[:] = np.where(known.epoch < 0, latest[which], known.epoch)
    return known


def tenure_of(rows: Rows, events: Rows) -> Ints:
    """Which tenure of its session each of ``events`` fell into: the index of the grant that began it, -1 without one.

    Tokens do not say it: a lock without fencing may give one twice.
    """
    grants = rows.of_kind(OrderKind.GRANT, outcomes=(OK,))
    whose = grants.place << BITS | grants.session
    at = latest_before(whose, grants.time_ns, grants.index, events.place << BITS | events.session, events.time_ns)
    return np.where(at >= 0, grants.index[at] if len(grants) else -1, -1)
