"""Place of clients: what those of one zone share, and what an arm provides for them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from zonelab.cluster.client.waiting import Changes, LevelKey, WaitingRoom
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.votes.pipeline import Outcome
from zonelab.engine.ports import Command, Reply, Runtime


class Subscriber(Protocol):
    """A client's own connection to the server of its zone, on which messages come."""

    def ask(self, command: Command) -> None:
        """Send a command of the subscribe family, or PING; what the server says comes as messages do."""

    def close(self) -> None: ...


class Subscribe(Protocol):
    """Opens a ``Subscriber``: ``hand_on`` gets messages and confirmations, ``lost`` is called when it breaks."""

    def __call__(
        self, *, hand_on: Callable[[list[Reply]], None], lost: Callable[[], None]
    ) -> Awaitable[Subscriber]: ...


class ClientPlace:
    """The place of one zone's clients.

    ``lease`` and ``release``: of coordinators whose connections are one client's own. ``refusal``: the error that keeps
    a command out of a transaction, as far as it is known before the transaction is sent. ``without``: why there are
    none of transactions here, if there are none. ``subscribe`` is an arm's, and ``changes``, if it has them.
    """

    def __init__(
        self,
        *,
        runtime: Runtime,
        coordinator: Coordinator,
        lease: Callable[[], Awaitable[Coordinator]],
        release: Callable[[Coordinator], None],
        subscribe: Subscribe,
        refusal: Callable[[Command], str | None] = lambda _: None,
        changes: Changes | None = None,
        without: str = "",
    ) -> None:
        self.runtime = runtime
        self.coordinator = coordinator
        self.lease = lease
        self.release = release
        self.refusal = refusal
        self.subscribe = subscribe
        self.without = without
        self.room: WaitingRoom[Reply] = WaitingRoom(runtime, self._look_at_level, changes=changes)
        self._clients = 0

    def next_identity(self) -> int:
        """Return the number of a new client."""
        self._clients += 1
        return self._clients

    def _look_at_level(self, where: LevelKey, answered: Callable[[bool], None]) -> None:
        level, key = where

        def done(outcome: Outcome) -> None:
            answered(outcome == [1])

        commands: Sequence[Command] = [("EXISTS", key)]
        self.coordinator.submit(level, commands, done)
