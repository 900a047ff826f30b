"""``order`` in ``run.json``: settings by which a run with ordered messages is judged, as its checker needs them."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class OrderRules(BaseModel):
    """Settings of a run for order, leases, retries and sinks.

    ``unit``: what is in order: all messages of a partition, or those of each key. ``retries_max``: a message is handed
    out at most once more than this, then it is a dead letter; None: without end. ``suspend_ms``: least time between two
    attempts. ``replay_max``: how many finished messages may be handed out again after a takeover: a batch, or what is
    finished in a commit interval. ``idempotent``: the log has each number of a producer once. ``fenced_sink``: the sink
    refuses older tokens and what it has already. ``wait_ms``: longest a message at the head may wait while no fault is
    in force. ``forbid``: properties that make the run invalid; None: those that the checker's page names.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    unit: Literal["partition", "key"] = "partition"
    retries_max: int | None = None
    suspend_ms: float = 0
    replay_max: int = 1
    idempotent: bool = True
    fenced_sink: bool = True
    wait_ms: float = 30_000
    forbid: tuple[str, ...] | None = None
