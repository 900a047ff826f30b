"""What a manual session left on disk beside its faults: what was asked for, and how each zone did over time."""

import pyarrow as pa

from analysis.rundir import RunDirectory

_CATEGORY = pa.dictionary(pa.int32(), pa.string())

VERBS = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),  # run time at which it was answered
        pa.field("verb", pa.string(), nullable=False),  # up, fault, end, restart, heal, down
        pa.field("arguments", pa.string(), nullable=False),  # JSON
        pa.field("error", pa.string()),  # null: it was done
    ]
)

SAMPLES = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),  # end of the interval
        pa.field("zone", _CATEGORY, nullable=False),
        pa.field("server", _CATEGORY, nullable=False),  # state of the zone's server: running, paused, dead
        pa.field("coordinator", _CATEGORY, nullable=False),  # state of its coordinator's process
        pa.field("operations_per_s", pa.float64()),  # commands of clients; null: the coordinator did not answer
        pa.field("errors_per_s", pa.float64()),  # of them answered with an error
        pa.field("divergent_per_s", pa.float64()),  # votes in which zones differed
        pa.field("p50_ms", pa.float64()),  # latency at the coordinator; null: no command in the interval
        pa.field("p99_ms", pa.float64()),
        pa.field("clients", pa.int64()),
        pa.field("in_flight", pa.int64()),  # messages on the links that this coordinator uses
    ]
)


def samples(run: RunDirectory) -> pa.Table:
    """Rows in order of time. Raises ``RunError``."""
    found = run.table("samples", SAMPLES)
    return SAMPLES.empty_table() if found is None else found


def verbs(run: RunDirectory) -> list[dict[str, object]]:
    """Rows in order of time. Raises ``RunError``."""
    found = run.table("verbs", VERBS)
    return [] if found is None else list(found.to_pylist())
