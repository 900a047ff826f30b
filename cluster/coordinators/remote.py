"""Hands writes from another data centre to a coordinator of this one, which passes them to all of its zones."""

from collections.abc import Callable, Mapping

from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.failures import PEER_REFUSED, ZoneFailure
from zonelab.cluster.connections.server import OnAnswer
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.coordinators.token_ring import RingCoordinator
from zonelab.cluster.votes.pipeline import Outcome
from zonelab.engine.ports import Runtime


class _PendingBatch:
    """One batch that the coordinator has not answered yet."""

    __slots__ = ("_far", "batch", "done", "sent_ns")

    def __init__(self, far: "RemoteCoordinator", batch: Batch, done: OnAnswer, sent_ns: int) -> None:
        self._far = far
        self.batch = batch
        self.done = done
        self.sent_ns = sent_ns

    def __call__(self, outcome: Outcome) -> None:
        self._far.waiting.pop(self, None)
        self.done(outcome if isinstance(outcome, list) else outcome.answers)


class RemoteCoordinator:
    """The far end of a ``Peer`` that leads to a coordinator (``DMSG_REQ_FORWARD`` in ``dyn_dnode_client.c``).

    ``coordinators``: those of the network, by node; that of ``node`` may be added later.
    """

    def __init__(self, node: str, coordinators: Mapping[str, Coordinator], *, runtime: Runtime) -> None:
        self._node = node
        self._coordinators = coordinators
        self._runtime = runtime
        self.waiting: dict[_PendingBatch, None] = {}

    @property
    def connected(self) -> bool:
        return self._node in self._coordinators and self._coordinators[self._node].running

    @property
    def in_flight(self) -> int:
        return len(self.waiting)

    def submit(self, batch: Batch, done: OnAnswer) -> None:
        coordinator = self._coordinators[self._node]
        if not coordinator.running:
            done(ZoneFailure(PEER_REFUSED, maybe_applied=False))
            return
        assert isinstance(coordinator, RingCoordinator)
        waiting = _PendingBatch(self, batch, done, self._runtime.now_ns())
        self.waiting[waiting] = None
        coordinator.forwarded(batch, waiting)

    def redirect(self, way: Callable[[Batch, OnAnswer, int], OnAnswer]) -> None:
        for waiting in self.waiting:
            waiting.done = way(waiting.batch, waiting.done, waiting.sent_ns)
