"""The run directory of a history that another program recorded: every reader of runs of workloads takes it."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from zonelab.analysis.checkers.consistency.anomalies import FORBIDDEN_OF
from zonelab.analysis.interchange.foreign_history import ForeignHistory
from zonelab.analysis.runs.accesses import FINAL_VALUES, FINAL_VALUES_NAME, VALUES, VALUES_NAME, Access
from zonelab.analysis.runs.history import DEPTH, FAULTS, FINAL_STATE, HistoryWriter
from zonelab.analysis.runs.info import FORMAT
from zonelab.analysis.runs.segments import SEGMENTED, segments_of, single_file, table_in
from zonelab.analysis.runs.tables import write_table
from zonelab.analysis.whole_files import write_json


def write_foreign_run(directory: Path, history: ForeignHistory, *, engine: str, facts: Mapping[str, Any]) -> None:
    """Write the files of a run that is known by a history of its clients.

    Args:
        directory: a new run directory.
        history: what happened.
        engine: what recorded it.
        facts: what ``run.json`` says beside it: the scenario's name, the program and the machine, the command.
    """
    _write_operations(directory, history)
    for name, schema in (("faults", FAULTS), ("depth", DEPTH)):
        table_in(directory, name, schema).close()
    write_table(single_file(directory, "final_state"), FINAL_STATE.empty_table())
    contents = {} if history.at_rest is None else history.at_rest.by_zone
    with closing(table_in(directory, FINAL_VALUES_NAME, FINAL_VALUES)) as table:
        for zone, keys in contents.items():
            for key, values in keys.items():
                for position, value in enumerate(values):
                    table.append({"zone": zone, "key": key, "position": position, "value": value})
    about = f"name: {facts['scenario']}\nlevel: {facts['level']}\n"
    (directory / "scenario.yaml").write_text(about, encoding="utf-8")
    segments = {name: len(segments_of(directory, name)) for name in SEGMENTED}
    write_json(directory / "run.json", {**_info(history, engine), "segments": segments, **facts})


def _write_operations(directory: Path, history: ForeignHistory) -> None:
    moments = [(one.begin, one, False) for one in history.accesses]
    moments += [(one.end, one, True) for one in history.accesses if one.end is not None]
    written: dict[int, int] = {}
    last_ns = 0
    operations = HistoryWriter(directory)
    with closing(table_in(directory, VALUES_NAME, VALUES)) as values:
        for _, one, ends in sorted(moments, key=lambda moment: moment[0]):
            last_ns = max(last_ns, one.end_ns or 0 if ends else one.begin_ns)
            if ends:
                operations.complete(written[one.op], time_ns=last_ns, type=one.type, error=one.error)
            else:
                written[one.op] = operations.invoke(time_ns=last_ns, process=one.process, zone=one.zone, f=one.f)
                values.append(_values(one, written[one.op]))
    for one in history.accesses:
        if one.end is None and one.error:
            operations.complete(written[one.op], time_ns=last_ns, type="info", error=one.error)
    operations.close()


def _values(one: Access, op_id: int) -> dict[str, Any]:
    names = ("key", "argument", "expected", "result", "applied", "members")
    return {"op_id": op_id, **{name: getattr(one, name) for name in names}}


def _info(history: ForeignHistory, engine: str) -> dict[str, Any]:
    unstated = set(history.unstated)
    end_ns = max(one.end_ns or one.begin_ns for one in history.accesses)
    return {
        "format": FORMAT,
        "seed": 0,
        "epoch_ns": 0,
        "status": "complete",
        "phases": {"load": [0, end_ns], "drain": [end_ns, end_ns]},
        "drained": True,
        "queue": {"engine": engine, "shards": {zone: zone for zone in history.zones}},
        "workload": {
            "kind": history.kind,
            "forbid": [str(name) for name in FORBIDDEN_OF[history.kind] if name not in unstated],
            "unstated": list(map(str, history.unstated)),
            "end_state": history.at_rest is not None,
        },
        "coordinators": {zone: {} for zone in history.zones},
    }
