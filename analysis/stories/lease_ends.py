"""Ends of leases that a history confirms: an ack in time ends one before, and a later lease of a delivery moves it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from zonelab.analysis.runs.info import RunInfo


class LeaseEnd(NamedTuple):
    """End of the lease of a delivery, at run time ``time_ns``, that ``process`` held."""

    message_id: str
    delivery: int
    time_ns: int
    process: str


class LeaseEnds:
    """Leases of deliveries, by rows of the history in its order."""

    def __init__(self, info: RunInfo) -> None:
        self._info = info
        self._open: dict[tuple[str, int], LeaseEnd] = {}

    def note(self, row: Mapping[str, Any]) -> None:
        """Take in the next row."""
        number = delivery_of(row)
        if row["type"] != "ok" or number is None:
            return
        key = row["message_id"], number
        if row["f"] == "ack":
            if key in self._open and row["time_ns"] < self._open[key].time_ns:
                del self._open[key]
        elif row["lease_end_ms"] is not None:
            self._open[key] = LeaseEnd(*key, self._info.run_ns(row["lease_end_ms"]), row["process"])

    def over(self) -> Iterator[LeaseEnd]:
        """Yield the last confirmed end of each lease, unless the run, or an ack, ended before."""
        last_ns = self._info.end_ns or 0
        yield from (one for one in self._open.values() if one.time_ns <= last_ns)


def delivery_of(row: Mapping[str, Any]) -> int | None:
    """Return the number of the delivery that a row is about: without one of its own, a delivery has that of its pop."""
    number: int | None = row["op_id"] if row["f"] == "pop" and row["delivery"] is None else row["delivery"]
    return number
