"""Observer that writes an engine's events of ordered messages into the history, with when and where."""

from typing import Any, cast

from zonelab.analysis.runs.order import OrderHistory, OrderKind, Outcome
from zonelab.engine.ports import Runtime
from zonelab.engine.units import NS_PER_MS

_LEASED = (OrderKind.GRANT, OrderKind.RENEW)


class OrderObserver:
    """``zonelab.engine.fifo.events.Observer`` of the programs of ``zone``.

    A lease is recorded to end ``lease_ns`` after the request: zones count from its arrival, so theirs end no earlier.
    """

    def __init__(self, history: OrderHistory, runtime: Runtime, *, zone: str, lease_ns: int) -> None:
        self._history, self._runtime, self._zone, self._lease_ns = history, runtime, zone, lease_ns

    def begin(self, kind: str, /, **columns: Any) -> int:
        now_ns = self._runtime.now_ns()
        order_kind = OrderKind(kind)
        columns.pop("above", None)  # what is finished above a cursor: for listeners, the history has no column for it
        if order_kind in _LEASED:
            columns.setdefault("until_ns", now_ns + self._lease_ns)
        pause_ms = columns.pop("pause_ms", None)
        if pause_ms is not None:
            columns["until_ns"] = now_ns + pause_ms * NS_PER_MS
        return self._history.begin(order_kind, time_ns=now_ns, zone=self._zone, **columns)

    def end(self, call: int, /, *, outcome: str, **columns: Any) -> None:
        self._history.end(call, time_ns=self._runtime.now_ns(), outcome=cast(Outcome, outcome), **columns)

    def start(self, **columns: Any) -> int:
        columns.setdefault("time_ns", self._runtime.now_ns())
        return self._history.start(zone=self._zone, **columns)

    def note(self, kind: str, /, **columns: Any) -> None:
        self._history.note(OrderKind(kind), time_ns=self._runtime.now_ns(), zone=self._zone, **columns)
