"""A run as OpenTelemetry traces in OTLP JSON: a trace a message, a span for its push and each delivery and ack of it.

A line is one ``TracesData`` message, which is what collectors read and write as files. The push is the root of the
trace; deliveries are its children, and a redelivery has a link to the delivery before it; an ack is a child of its
delivery. Ids are digests of the run and the operation, so equal runs have equal files.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple, TextIO

from zonelab.analysis.interchange.run_events import INVOKE, RunEvent, run_events
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.stories.lease_ends import delivery_of

SPANS_A_LINE = 1_000

_CLIENT, _PRODUCER, _CONSUMER = 3, 4, 5
_KINDS = {"push": _PRODUCER, "pop": _CONSUMER}
_OK, _ERROR = 1, 2


class _SpanPlace(NamedTuple):
    """The program of a span, and its zone."""

    process: str
    zone: str


def write_otlp(run: RunDirectory, file: TextIO) -> None:
    """Write the traces of a run whose clients used a queue. Raises ``RunError``."""
    spans = _Spans(run).spans()
    while some := list(islice(spans, SPANS_A_LINE)):
        json.dump({"resourceSpans": list(_by_resource(run, some))}, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


def _by_resource(run: RunDirectory, spans: Iterable[tuple[_SpanPlace, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    found: dict[_SpanPlace, list[dict[str, Any]]] = defaultdict(list)
    for place, span in spans:
        found[place].append(span)
    info = run.info
    for place, own in found.items():
        about = {
            "service.name": place.process,
            "service.namespace": "zonelab",
            "cloud.availability_zone": place.zone,
            "zonelab.scenario": info.scenario,
            "zonelab.level": info.level,
            "zonelab.engine": info.queue.engine,
            "zonelab.seed": info.seed,
            "zonelab.run_id": info.run_id,
        }
        scope = {"scope": {"name": "zonelab", "version": info.zonelab_version}, "spans": own}
        yield {"resource": {"attributes": _attributes(about)}, "scopeSpans": [scope]}


class _Spans:
    """Spans in the order in which their operations ended."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._begun: dict[int, RunEvent] = {}
        self._push: dict[str, str] = {}
        self._deliveries: dict[str, list[str]] = defaultdict(list)

    def spans(self) -> Iterator[tuple[_SpanPlace, dict[str, Any]]]:
        last_ns = 0
        for event in run_events(self._run):
            last_ns = event.time_ns
            if event.type == INVOKE:
                self._begun[event.op_id] = event
                for row in event.messages if event.f == "push" else ():
                    self._push.setdefault(row["message_id"], self._span_id(event.op_id, row["message_id"]))
            else:
                yield from self._of(self._begun.pop(event.op_id), event, event.time_ns)
        for begun in self._begun.values():
            yield from self._of(begun, begun._replace(type="info", error="no end on record"), last_ns)

    def _of(self, begun: RunEvent, ended: RunEvent, end_ns: int) -> Iterator[tuple[_SpanPlace, dict[str, Any]]]:
        for row in ended.messages:
            span = self._span(begun, ended, end_ns, row)
            if ended.delivers:
                self._deliveries[row["message_id"]].append(span["spanId"])
            yield _SpanPlace(begun.process, begun.zone), span

    def _span(self, begun: RunEvent, ended: RunEvent, end_ns: int, row: Mapping[str, Any]) -> dict[str, Any]:
        message, epoch_ns = row["message_id"], self._run.info.epoch_ns
        own = self._span_id(begun.op_id, message)
        trace = self._digest(message, size=16)
        span: dict[str, Any] = {
            "traceId": trace,
            "spanId": own,
            "name": f"{begun.f} {message}",
            "kind": _KINDS.get(begun.f, _CLIENT),
            "startTimeUnixNano": str(epoch_ns + begun.time_ns),
            "endTimeUnixNano": str(epoch_ns + end_ns),
            "attributes": _attributes(_about(begun, ended, row)),
            "status": {"code": _OK} if ended.type == "ok" else {"code": _ERROR, "message": ended.error or ended.type},
        }
        parent = self._parent(begun, ended, row)
        if parent not in (None, own):
            span["parentSpanId"] = parent
        if ended.delivers and (before := self._deliveries[message]):
            again = _attributes({"zonelab.link": "redelivery"})
            span["links"] = [{"traceId": trace, "spanId": before[-1], "attributes": again}]
        return span

    def _parent(self, begun: RunEvent, ended: RunEvent, row: Mapping[str, Any]) -> str | None:
        message, number = row["message_id"], delivery_of(row)
        if begun.f not in ("push", "pop") and number is not None:
            delivery = self._span_id(number, message)
            if delivery in self._deliveries[message]:
                return delivery
        return self._push.get(message)

    def _span_id(self, op_id: int, message: str) -> str:
        return self._digest(f"{op_id}/{message}", size=8)

    def _digest(self, name: str, *, size: int) -> str:
        return blake2b(f"{self._run.info.run_id}/{name}".encode(), digest_size=size).hexdigest()


def _about(begun: RunEvent, ended: RunEvent, row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("shard", "delivery", "due_ms", "lease_end_ms", "priority", "key")
    found = {f"zonelab.{name}": row[name] for name in names if row[name] is not None}
    return {
        "messaging.system": "zonelab",
        "messaging.operation.name": begun.f,
        "messaging.message.id": row["message_id"],
        "zonelab.op_id": begun.op_id,
        "zonelab.outcome": ended.type,
        **found,
    }


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}
