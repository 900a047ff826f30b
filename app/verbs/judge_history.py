"""A verdict on a history that Jepsen or a user of Porcupine recorded."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from zonelab.analysis.interchange.foreign_history import ForeignHistory, ForeignHistoryError
from zonelab.analysis.interchange.foreign_run import write_foreign_run
from zonelab.analysis.interchange.formats import HistoryFormat
from zonelab.analysis.interchange.jepsen_reading import read_jepsen
from zonelab.analysis.interchange.porcupine_reading import read_porcupine
from zonelab.analysis.stages import Stage, unheard
from zonelab.analysis.summary.result import Result
from zonelab.analysis.workloads import WorkloadKind
from zonelab.app.verbs.check import Illustrations, illustrate
from zonelab.app.verbs.judge import Judged, LogOrigin, name_of, read_bytes
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.run_files.directory import create_run_directory, environment

_READERS: Mapping[HistoryFormat, Callable[[str, WorkloadKind], ForeignHistory]] = {
    HistoryFormat.JEPSEN: read_jepsen,
    HistoryFormat.PORCUPINE: read_porcupine,
}


def judged_history(
    path: Path,
    *,
    format_: HistoryFormat,
    kind: WorkloadKind,
    draws: bool,
    runs: Path,
    command: str,
    stage: Stage = unheard,
) -> Judged:
    """Judge the history in ``path``, in a new run directory under ``runs``. ``-`` is stdin.

    Raises ``NotAccepted`` for what is no such history.
    """
    name, data = read_bytes(path)
    started = datetime.now(UTC)
    try:
        history = _READERS[format_](data.decode("utf-8-sig"), kind)
    except UnicodeDecodeError as error:
        raise NotAccepted(f"{name}: byte {error.start}: accepted: UTF-8") from error
    except ForeignHistoryError as error:
        raise NotAccepted(f"{name}: {error}") from error
    origin = LogOrigin(name=name_of(path), level=format_)
    directory = create_run_directory(runs, origin, started)
    facts = {
        **environment(),
        "scenario": origin.name,
        "level": origin.level,
        "started_utc": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "command": command,
    }
    write_foreign_run(directory, history, engine=format_, facts=facts)
    result = Result.examined(directory, title=origin.level, stage=stage)
    illustrations = illustrate(directory, stage=stage) if draws else Illustrations.kept(directory)
    events = sum(1 + (one.end is not None) for one in history.accesses)
    return Judged(result=result, illustrations=illustrations, events=events, command=command)
