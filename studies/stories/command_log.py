"""Records every command that a simulated run sends through its coordinators: who sent it, and what each zone answered.

It stands between the run and the cluster, waits for nothing and sets no timer, so the run is the same with it.
"""

from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from zonelab.cluster.connections.batch import Answer, Batch, Channel
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.testbed import TestbedAround
from zonelab.engine.ports import Command, Promise, Reply, Runtime, Task, Timer
from zonelab.studies.stories.naming import MessageNaming

T = TypeVar("T")

_LAB = "lab"
_UNACK = "unack"


@dataclass(frozen=True, slots=True)
class ZoneAnswer:
    """A zone's answer to one command, as it reached the coordinator; ``reply`` may be a ``ZoneFailure``."""

    time_ns: int
    reply: Reply


@dataclass(frozen=True, kw_only=True, slots=True)
class SentCommand:
    """One command on its way: the program that sent it, the zone of its coordinator, and the answers by zone."""

    time_ns: int
    program: str
    zone: str
    command: Command
    answers: dict[str, ZoneAnswer | None] = field(default_factory=dict)


def touches(sent: SentCommand, namings: Sequence[MessageNaming]) -> bool:
    """Return whether the command names one of the messages, or a zone's reply to it does."""
    replies = (answer.reply for answer in sent.answers.values() if answer is not None)
    return any(naming.is_in(value) for value in (sent.command, *replies) for naming in namings)


class CommandLog:
    """Commands that a run sends. Pass ``testbed`` to the run as its observer.

    ``namings``: of messages; a batch is kept only if it, or an answer to it, names one of them. Without them all are.
    """

    def __init__(self, namings: Sequence[MessageNaming] = ()) -> None:
        self.program = _LAB
        self._namings = tuple(namings)
        self._by_batch: dict[Batch, list[SentCommand]] = {}

    @property
    def commands(self) -> list[SentCommand]:
        """The commands in the order in which they were sent."""
        sent = [one for batch in self._by_batch.values() for one in batch]
        return [one for one in sent if touches(one, self._namings)] if self._namings else sent

    def testbed(self, cluster: SimCluster) -> "LoggedTestbed":
        return LoggedTestbed(cluster, self)

    def sent(self, batch: Batch, *, time_ns: int, source: str, target: str) -> list[SentCommand]:
        """Note that ``batch`` goes from ``source`` to ``target``. Its commands, whose answers are still open."""
        if batch not in self._by_batch:
            self._by_batch[batch] = [
                SentCommand(time_ns=time_ns, program=self.program, zone=source, command=command)
                for command in batch.commands
            ]
        for sent in self._by_batch[batch]:
            sent.answers[target] = None
        return self._by_batch[batch]

    def answered(self, batch: Batch) -> None:
        """Forget ``batch`` if every zone has answered and none of it names a message."""
        if not self._namings:
            return
        sent = self._by_batch.get(batch, [])
        if not any(None in one.answers.values() or touches(one, self._namings) for one in sent):
            self._by_batch.pop(batch, None)


class LoggedTestbed(TestbedAround):
    """``Testbed`` that is the simulated cluster except that ``log`` sees its commands."""

    def __init__(self, cluster: SimCluster, log: CommandLog) -> None:
        super().__init__(cluster)
        self._log = log
        self._runtime = _LoggedRuntime(cluster.runtime, log)

    @property
    def runtime(self) -> Runtime:
        return self._runtime

    async def start(self) -> None:
        await super().start()
        for zone, coordinator in self.coordinators.items():
            coordinator.channels = [
                _LoggedChannel(channel, zone, coordinator.zones[position], self._runtime, self._log)
                for position, channel in enumerate(coordinator.channels)
            ]


class _LoggedChannel:
    def __init__(self, channel: Channel, source: str, target: str, runtime: Runtime, log: CommandLog) -> None:
        self._channel = channel
        self._source = source
        self._target = target
        self._runtime = runtime
        self._log = log

    @property
    def connected(self) -> bool:
        return self._channel.connected

    def reset(self) -> None:
        self._channel.reset()

    def submit(self, batch: Batch, done: Callable[[Answer], None]) -> None:
        sent = self._log.sent(batch, time_ns=self._runtime.now_ns(), source=self._source, target=self._target)

        def answered(answer: Answer) -> None:
            replies = [answer] * len(sent) if isinstance(answer, ZoneFailure) else answer
            for one, reply in zip(sent, replies, strict=True):
                one.answers[self._target] = ZoneAnswer(self._runtime.now_ns(), reply)
            self._log.answered(batch)
            done(answer)

        self._channel.submit(batch, answered)


class _LoggedRuntime:
    """Knows at every moment which program is running: the task that it spawned last, or that one's parent."""

    def __init__(self, runtime: Runtime, log: CommandLog) -> None:
        self._runtime = runtime
        self._log = log

    def now_ns(self) -> int:
        return self._runtime.now_ns()

    async def sleep(self, duration_ns: int) -> None:
        await self._runtime.sleep(duration_ns)

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> Timer:
        return self._runtime.call_later(delay_ns, callback)

    def spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> Task[T]:
        program = f"{self._log.program} {_UNACK}" if name.startswith(_UNACK) else name
        return self._runtime.spawn(_Steps(coroutine, program, self._log), name=name)

    def promise(self) -> Promise[Any]:
        return self._runtime.promise()

    def random(self, user: str) -> Random:
        return self._runtime.random(user)


class _Steps(Coroutine[Any, Any, T]):
    """Coroutine that names its program to the log during each of its steps."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], program: str, log: CommandLog) -> None:
        self._coroutine = coroutine
        self._program = program
        self._log = log

    def send(self, value: Any, /) -> Any:
        return self._step(lambda: self._coroutine.send(value))

    def throw(self, kind: Any, value: Any = None, traceback: Any = None, /) -> Any:
        return self._step(lambda: self._coroutine.throw(kind))

    def close(self) -> None:
        self._step(self._coroutine.close)

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine.__await__()

    def _step(self, step: Callable[[], Any]) -> Any:
        before, self._log.program = self._log.program, self._program
        try:
            return step()
        finally:
            self._log.program = before
