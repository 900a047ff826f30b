"""A run as a Perfetto trace: programs, servers and depths by zone; operations, faults, and what led to what."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, BinaryIO

from zonelab.analysis.interchange.perfetto_packets import Flows, PerfettoFile
from zonelab.analysis.interchange.run_events import INVOKE, RunEvent, run_events, values_by_operation
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.stories.lease_ends import delivery_of

MESSAGES_NAMED = 10
"""Messages of one operation that its slice names."""

_Moment = tuple[int, Callable[[], None]]
"""A time, and what is then written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaAnswer:
    """The answer of one zone to a command, as it reached the coordinator."""

    time_ns: int
    words: str


@dataclass(frozen=True, kw_only=True, slots=True)
class VotedCommand:
    """A command on its way from the coordinator of ``zone`` to the replicas. ``answers`` by zone; None: none came."""

    time_ns: int
    program: str
    zone: str
    words: str
    answers: Mapping[str, ReplicaAnswer | None]


def write_perfetto(run: RunDirectory, file: BinaryIO, *, commands: Sequence[VotedCommand] = ()) -> None:
    """Write a trace of ``run``.

    Args:
        run: the run.
        file: receives the trace.
        commands: what its coordinators sent, in the order of time, if that is known.

    Raises:
        RunError: if the run cannot be read.
    """
    tracks = _Tracks(PerfettoFile(file))
    moments = [_OperationSlices(tracks, run).moments(), _depth(tracks, run), _Votes(tracks).moments(commands)]
    for _, write in heapq.merge(_faults(tracks, run), *moments, key=lambda moment: moment[0]):
        write()


@dataclass(slots=True)
class _Tracks:
    """Tracks by zone and name. A program that does several things at once has several tracks of one name."""

    file: PerfettoFile
    flow_ids: Iterator[int] = field(default_factory=lambda: count(1))
    _groups: dict[str, int] = field(default_factory=dict)
    _free: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    _counters: dict[tuple[str, str], int] = field(default_factory=dict)
    _place: dict[int, tuple[str, str]] = field(default_factory=dict)

    def group(self, name: str) -> int:
        if name not in self._groups:
            self._groups[name] = self.file.group(name)
        return self._groups[name]

    def take(self, group: str, name: str) -> int:
        """Return a track on which nothing goes on."""
        free = self._free[group, name]
        if free:
            return free.pop()
        track = self.file.track(name, group=self.group(group))
        self._place[track] = group, name
        return track

    def release(self, track: int) -> None:
        self._free[self._place[track]].append(track)

    def counter(self, group: str, name: str) -> int:
        if (group, name) not in self._counters:
            self._counters[group, name] = self.file.counter_track(name, group=self.group(group))
        return self._counters[group, name]


class _OperationSlices:
    """A slice an operation, a moment a delivered message; arrows from pushes to deliveries, and on to their acks."""

    def __init__(self, tracks: _Tracks, run: RunDirectory) -> None:
        self._tracks = tracks
        self._run = run
        self._values = values_by_operation(run)
        self._open: dict[int, int] = {}
        self._out: dict[tuple[str, int], list[int]] = defaultdict(list)
        self._into: dict[tuple[str, int], list[int]] = defaultdict(list)

    def moments(self) -> Iterator[_Moment]:
        self._draw_flows()
        last_ns = 0
        for event in run_events(self._run):
            last_ns = event.time_ns
            yield last_ns, _later(self._write, event)
        yield last_ns, _later(self._end_all, last_ns)

    def _draw_flows(self) -> None:
        """Find both ends of every arrow: keys are a message with the number of the push, the delivery or the ack."""
        pushed: dict[str, int] = {}
        delivered: set[tuple[str, int]] = set()
        for event in run_events(self._run):
            for row in event.messages:
                message, number = row["message_id"], delivery_of(row)
                if event.f == "push" and event.type == INVOKE:
                    pushed.setdefault(message, event.op_id)
                elif event.delivers and number is not None and (message, number) not in delivered:
                    delivered.add((message, number))
                    if message in pushed:
                        self._arrow((message, pushed[message]), (message, number))
                elif (
                    event.f == "ack" and event.type == INVOKE and number is not None and (message, number) in delivered
                ):
                    delivered.discard((message, number))
                    self._arrow((message, number), (message, event.op_id))

    def _arrow(self, begin: tuple[str, int], end: tuple[str, int]) -> None:
        flow = next(self._tracks.flow_ids)
        self._out[begin].append(flow)
        self._into[end].append(flow)

    def _write(self, event: RunEvent) -> None:
        if event.type == INVOKE:
            self._begin(event)
        else:
            self._end(event)

    def _begin(self, event: RunEvent) -> None:
        track = self._open[event.op_id] = self._tracks.take(f"zone {event.zone}", event.process)
        ids = [row["message_id"] for row in event.messages]
        keys = [(one, event.op_id) for one in ids]
        flows = Flows(
            out=[flow for key in keys if event.f == "push" for flow in self._out.get(key, ())],
            into=[flow for key in keys if event.f == "ack" for flow in self._into.get(key, ())],
        )
        arguments: dict[str, str | int] = {"op_id": event.op_id}
        if ids:
            arguments["messages"] = ", ".join(ids[:MESSAGES_NAMED]) + (", …" if len(ids) > MESSAGES_NAMED else "")
        arguments |= _access(self._values.get(event.op_id), asked=True)
        self._tracks.file.begin(track, event.time_ns, event.f, category="operation", arguments=arguments, flows=flows)

    def _end(self, event: RunEvent) -> None:
        track = self._open.pop(event.op_id)
        for row in event.messages if event.delivers else ():
            key = row["message_id"], delivery_of(row) or 0
            flows = Flows(out=self._out.get(key, ()), into=self._into.get(key, ()))
            self._tracks.file.instant(track, event.time_ns, row["message_id"], category="delivery", flows=flows)
        arguments: dict[str, str | int] = {"outcome": event.type}
        if event.error:
            arguments["error"] = event.error
        arguments |= _access(self._values.get(event.op_id), asked=False)
        self._tracks.file.end(track, event.time_ns, arguments=arguments)
        self._tracks.release(track)

    def _end_all(self, time_ns: int) -> None:
        for track in self._open.values():
            self._tracks.file.end(track, time_ns, arguments={"outcome": "no end on record"})


def _access(row: Mapping[str, Any] | None, *, asked: bool) -> dict[str, str | int]:
    names = ("key", "argument", "expected") if asked else ("result", "applied")
    return {} if row is None else {name: str(row[name]) for name in names if row[name] is not None}


def _faults(tracks: _Tracks, run: RunDirectory) -> Iterator[_Moment]:
    """Yield a slice for each fault; one that never ended lasts until the end of the run."""
    bands = run.faults()
    last_ns = max((band.end_ns or band.begin_ns for band in bands), default=0)
    last_ns = max(last_ns, run.info.end_ns or 0)
    open_tracks: dict[str, int] = {}

    def begin(name: str, time_ns: int, arguments: dict[str, str | int], what: str) -> None:
        open_tracks[name] = tracks.take("faults", what)
        tracks.file.begin(open_tracks[name], time_ns, name, category="fault", arguments=arguments)

    def end(name: str, time_ns: int) -> None:
        track = open_tracks.pop(name)
        tracks.file.end(track, time_ns)
        tracks.release(track)

    moments: list[tuple[int, int, Callable[[], None]]] = []
    for band in bands:
        what, end_ns = f"{band.kind} {band.target}", last_ns if band.end_ns is None else band.end_ns
        more: dict[str, str | int] = {"detail": band.particulars} if band.particulars else {}
        moments.append((band.begin_ns, len(moments), _later(begin, band.fault, band.begin_ns, more, what)))
        moments.append((end_ns, len(moments), _later(end, band.fault, end_ns)))
    for time_ns, _, write in sorted(moments, key=lambda moment: moment[:2]):
        yield time_ns, write


def _later(call: Callable[..., None], *arguments: Any) -> Callable[[], None]:
    return lambda: call(*arguments)


def _depth(tracks: _Tracks, run: RunDirectory) -> Iterator[_Moment]:
    for row in run.depth().to_pylist():
        for name in ("waiting", "leased"):
            if row[name] is not None:
                yield row["time_ns"], _later(_counted, tracks, row["zone"], name, row["time_ns"], row[name])


def _counted(tracks: _Tracks, zone: str, name: str, time_ns: int, value: int) -> None:
    tracks.file.count(tracks.counter(f"zone {zone}", name), time_ns, value)


class _Votes:
    """A slice a command at its coordinator, one at each replica that answered, and a moment for each vote that came."""

    def __init__(self, tracks: _Tracks) -> None:
        self._tracks = tracks
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()

    def moments(self, commands: Iterable[VotedCommand]) -> Iterator[_Moment]:
        for one in commands:
            yield from self._until(one.time_ns)
            yield one.time_ns, _later(self._send, one)
        while self._due:
            yield from self._until(self._due[0][0])

    def _until(self, time_ns: int) -> Iterator[_Moment]:
        while self._due and self._due[0][0] <= time_ns:
            at_ns, _, write = heapq.heappop(self._due)
            yield at_ns, write

    def _at(self, time_ns: int, call: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self._due, (time_ns, next(self._numbers), _later(call, *arguments)))

    def _send(self, sent: VotedCommand) -> None:
        file, own = self._tracks.file, self._tracks.take(f"zone {sent.zone}", "coordinator")
        came = {zone: answer for zone, answer in sent.answers.items() if answer is not None}
        flows = {zone: (next(self._tracks.flow_ids), next(self._tracks.flow_ids)) for zone in came}
        arguments: dict[str, str | int] = {"program": sent.program}
        if silent := [zone for zone in sent.answers if zone not in came]:
            arguments["no answer from"] = ", ".join(silent)
        out = Flows(out=[there for there, _ in flows.values()])
        file.begin(own, sent.time_ns, sent.words, category="command", arguments=arguments, flows=out)
        for zone, answer in came.items():
            there, back = flows[zone]
            track = self._tracks.take(f"zone {zone}", "server")
            both = Flows(into=[there], out=[back])
            file.begin(track, sent.time_ns, sent.words, category="replica", flows=both)
            self._at(answer.time_ns, self._vote, own, track, zone, answer, back)
        last_ns = max((answer.time_ns for answer in came.values()), default=sent.time_ns)
        self._at(last_ns, self._close, own, last_ns)

    def _vote(self, own: int, track: int, zone: str, answer: ReplicaAnswer, back: int) -> None:
        self._close(track, answer.time_ns)
        words = f"{zone}: {answer.words}"
        self._tracks.file.instant(own, answer.time_ns, words, category="vote", flows=Flows(into=[back]))

    def _close(self, track: int, time_ns: int) -> None:
        self._tracks.file.end(track, time_ns)
        self._tracks.release(track)
