"""Records every command that a run sends through its coordinators: who sent it, and what each zone answered.

It stands between the run and the cluster, waits for nothing and sets no timer, so a simulated run is the same with it.
"""

from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Protocol, TypeVar

from zonelab.cluster.connections.batch import Answer, Batch, Channel
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.testbed import Testbed, TestbedAround
from zonelab.engine.ports import Command, Promise, Reply, Runtime, Task, Timer
from zonelab.scenarios.run.naming import MessageNaming

T = TypeVar("T")

LAB = "lab"
"""The program of what the lab itself sends."""

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


@dataclass(slots=True)
class SentBatch:
    """Commands that are sent together; ``answers``: by zone, when each came and what it is, None while it is open."""

    time_ns: int
    program: str
    zone: str
    commands: Sequence[Command]
    answers: dict[str, tuple[int, Answer] | None] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        """Return whether the answer of a zone is still to come."""
        return None in self.answers.values()

    def apart(self) -> Iterator[SentCommand]:
        """Yield the commands one by one, each with its own replies."""
        for place, command in enumerate(self.commands):
            replies = {zone: answer and _reply(answer, place) for zone, answer in self.answers.items()}
            yield SentCommand(
                time_ns=self.time_ns, program=self.program, zone=self.zone, command=command, answers=replies
            )


def _reply(answer: tuple[int, Answer], place: int) -> ZoneAnswer:
    time_ns, replies = answer
    return ZoneAnswer(time_ns, replies if isinstance(replies, ZoneFailure) else replies[place])


def touches(sent: SentCommand, namings: Sequence[MessageNaming]) -> bool:
    """Return whether the command names one of the messages, or a zone's reply to it does."""
    replies = (answer.reply for answer in sent.answers.values() if answer is not None)
    return any(naming.is_in(value) for value in (sent.command, *replies) for naming in namings)


def commands_of(batches: Iterable[SentBatch], namings: Sequence[MessageNaming]) -> list[SentCommand]:
    """Return the commands of ``batches`` that touch one of the messages; all without ``namings``."""
    sent = [one for batch in batches for one in batch.apart()]
    return [one for one in sent if touches(one, namings)] if namings else sent


class CommandListener(Protocol):
    """Gets what a run sends and what zones answer. ``program``: the one that is running."""

    program: str

    def sent(self, batch: Batch, *, time_ns: int, source: str, target: str) -> SentBatch | None:
        """Note that ``batch`` goes from ``source`` to ``target``. None: its answers are of no interest."""

    def answered(self, batch: Batch, sent: SentBatch) -> None:
        """Note that a zone has answered, which ``sent`` has by now."""


class CommandLog:
    """Commands that a run sends. Pass ``testbed`` to the run as its observer.

    ``namings``: of messages; a batch is kept only if it, or an answer to it, names one of them. Without them all are.
    """

    def __init__(self, namings: Sequence[MessageNaming] = ()) -> None:
        self.program = LAB
        self._namings = tuple(namings)
        self._by_batch: dict[Batch, SentBatch] = {}

    @property
    def commands(self) -> list[SentCommand]:
        """The commands in the order in which they were sent."""
        return commands_of(self._by_batch.values(), self._namings)

    def testbed(self, cluster: Testbed) -> "LoggedTestbed":
        return LoggedTestbed(cluster, self)

    def sent(self, batch: Batch, *, time_ns: int, source: str, target: str) -> SentBatch:
        """Note that ``batch`` goes from ``source`` to ``target``."""
        if batch not in self._by_batch:
            self._by_batch[batch] = SentBatch(time_ns, self.program, source, batch.commands)
        sent = self._by_batch[batch]
        sent.answers[target] = None
        return sent

    def answered(self, batch: Batch, sent: SentBatch) -> None:
        """Forget ``batch`` if every zone has answered and none of it names a message."""
        if self._namings and not sent.open and not any(touches(one, self._namings) for one in sent.apart()):
            self._by_batch.pop(batch, None)


class LoggedTestbed(TestbedAround):
    """``Testbed`` that is ``cluster`` except that ``log`` sees its commands."""

    def __init__(self, cluster: Testbed, log: CommandListener) -> None:
        super().__init__(cluster)
        self._log = log
        self._runtime = _LoggedRuntime(cluster.runtime, log)

    @property
    def runtime(self) -> Runtime:
        return self._runtime

    async def start(self) -> None:
        await super().start()
        for zone, coordinator in self.coordinators.items():
            coordinator.wrap_channels(partial(self._logged, zone))

    def _logged(self, source: str, target: str, channel: Channel) -> Channel:
        return _LoggedChannel(channel, source, target, self._runtime, self._log)


class _LoggedChannel:
    def __init__(self, channel: Channel, source: str, target: str, runtime: Runtime, log: CommandListener) -> None:
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
        now_ns, log, target = self._runtime.now_ns, self._log, self._target
        sent = log.sent(batch, time_ns=now_ns(), source=self._source, target=target)
        if sent is None:
            self._channel.submit(batch, done)
            return

        def answered(answer: Answer) -> None:
            sent.answers[target] = now_ns(), answer
            log.answered(batch, sent)
            done(answer)

        self._channel.submit(batch, answered)


class _LoggedRuntime:
    """Knows at every moment which program is running: the task that it spawned last, or that one's parent."""

    def __init__(self, runtime: Runtime, log: CommandListener) -> None:
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

    def __init__(self, coroutine: Coroutine[Any, Any, T], program: str, log: CommandListener) -> None:
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
