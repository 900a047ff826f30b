"""Goal: the trace of a run is one that Perfetto can read, and says neither more nor less than the history.

Method: read it with Perfetto's own protobuf classes and count beside the tables of the run; and hand the same checks a
trace in which something is wrong.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from support.scenarios.short_runs import table_rows
from support.scenarios.sim_runs import small

from zonelab.analysis.interchange.formats import ExportFormat
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.app.verbs import export
from zonelab.app.verbs.export import exported
from zonelab.scenarios.run.simulated import NullWatcher, run_in_sim

FAULTS = [
    {"kind": "kill", "zone": "b", "at_s": 0.3, "for_s": 0.3},
    {"kind": "cut", "isolate": "c", "at_s": 0.5, "for_s": 0.3},
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    scenario = small(faults=FAULTS, level="DC_QUORUM", seed=3)
    path, _ = run_in_sim(scenario, runs=tmp_path_factory.mktemp("runs"), watcher=NullWatcher(), command="zonelab run")
    return RunDirectory.open(path)


def read(path: Path) -> Trace:
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    return trace


@pytest.fixture(scope="module")
def trace(run: RunDirectory) -> Trace:
    [path] = exported(run.path, ExportFormat.PERFETTO, out=None).files
    return read(path)


def events(trace: Trace) -> Iterator[tuple[int, TrackEvent]]:
    for packet in trace.packet:
        if packet.HasField("track_event"):
            yield packet.timestamp, packet.track_event


def flaws(trace: Trace) -> list[str]:
    """Flaws of a trace: times that fall, slices that do not nest, arrows without an end."""
    found, last_ns = [], 0
    known = {0, *(packet.track_descriptor.uuid for packet in trace.packet if packet.HasField("track_descriptor"))}
    depth: Counter[int] = Counter()
    begins: dict[int, list[int]] = defaultdict(list)
    ends: dict[int, list[int]] = defaultdict(list)
    for time_ns, event in events(trace):
        found += [f"{time_ns} after {last_ns}"] if time_ns < last_ns else []
        last_ns = time_ns
        found += [f"no track {event.track_uuid}"] if event.track_uuid not in known else []
        depth[event.track_uuid] += {TrackEvent.TYPE_SLICE_BEGIN: 1, TrackEvent.TYPE_SLICE_END: -1}.get(event.type, 0)
        found += [f"track {event.track_uuid} at {time_ns}"] if depth[event.track_uuid] not in (0, 1) else []
        for flow in event.flow_ids:
            begins[flow].append(time_ns)
        for flow in event.terminating_flow_ids:
            ends[flow].append(time_ns)
    found += [f"open track {track}" for track, left in depth.items() if left]
    for flow in {*begins, *ends}:
        if not (len(begins[flow]) == len(ends[flow]) == 1 and begins[flow][0] <= ends[flow][0]):
            found.append(f"flow {flow}")
    return found


def test_slices_nest_times_rise_and_arrows_have_both_ends(trace: Trace):
    assert flaws(trace) == []
    assert any(event.flow_ids for _, event in events(trace))


def test_a_trace_with_a_flaw_is_found_out(trace: Trace):
    places = [place for place, packet in enumerate(trace.packet) if packet.HasField("track_event")]
    for kind in (TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END):
        less = Trace()
        less.CopyFrom(trace)
        del less.packet[next(place for place in places if trace.packet[place].track_event.type == kind)]
        assert flaws(less)
    arrow = next(place for place in places if trace.packet[place].track_event.flow_ids)
    less.CopyFrom(trace)
    del less.packet[arrow].track_event.flow_ids[:]
    assert flaws(less)


def test_there_are_as_many_slices_moments_and_numbers_as_the_history_has(trace: Trace, run: RunDirectory):
    rows = table_rows(run.path, "operations")
    begun = Counter({row["op_id"]: row["f"] for row in rows if row["type"] == "invoke"}.values())
    slices = [event for _, event in events(trace) if event.type == TrackEvent.TYPE_SLICE_BEGIN]
    assert Counter(event.name for event in slices if event.categories == ["operation"]) == begun
    delivered = [row["message_id"] for row in rows if row["f"] == "pop" and row["type"] == "ok" and row["message_id"]]
    moments = [event for _, event in events(trace) if event.categories == ["delivery"]]
    assert Counter(event.name for event in moments) == Counter(delivered)
    assert sum(len(event.terminating_flow_ids) for event in moments) == len(delivered)
    faults = table_rows(run.path, "faults")
    assert {event.name for event in slices if event.categories == ["fault"]} == {row["fault"] for row in faults}
    numbers = [event.counter_value for _, event in events(trace) if event.type == TrackEvent.TYPE_COUNTER]
    depth = [row[name] for row in table_rows(run.path, "depth") for name in ("waiting", "leased")]
    assert numbers == [value for value in depth if value is not None]


def test_each_command_of_a_run_made_again_leads_to_its_replicas_and_their_votes(trace: Trace):
    of_kind = defaultdict(list)
    for _, event in events(trace):
        for kind in event.categories:
            of_kind[kind].append(event)
    assert len(of_kind["vote"]) == len(of_kind["replica"]) > len(of_kind["command"]) > 0
    sent = {flow for event in of_kind["command"] for flow in event.flow_ids}
    assert sent == {flow for event in of_kind["replica"] for flow in event.terminating_flow_ids}
    came = {flow for event in of_kind["replica"] for flow in event.flow_ids}
    assert came == {flow for event in of_kind["vote"] for flow in event.terminating_flow_ids}


def test_a_run_that_is_not_made_again_has_a_trace_without_commands(
    run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(export, "VOTED_MESSAGES_MAX", 3)
    done = exported(run.path, ExportFormat.PERFETTO, out=tmp_path / "trace")
    assert "it is made again up to 3" in done.without
    trace = read(tmp_path / "trace")
    assert flaws(trace) == []
    assert not [event for _, event in events(trace) if "command" in event.categories]


def test_what_never_ended_ends_with_the_trace_and_an_ack_before_its_push_has_no_arrow(tmp_path: Path):
    builder = RunBuilder(tmp_path / "run")
    pop = builder.pop("m", at_ms=5)
    builder.push("m", at_ms=9)
    builder.push("n", at_ms=10, outcome=None)
    builder.ack("m", pop, at_ms=11)
    builder.fault("kill", "b", begin_ms=1, end_ms=None)
    done = exported(builder.write(), ExportFormat.PERFETTO, out=tmp_path / "trace")
    assert "on real servers" in done.without
    trace = read(tmp_path / "trace")
    assert flaws(trace) == []
    assert sum(len(event.flow_ids) for _, event in events(trace)) == 1  # the delivery leads to its ack
