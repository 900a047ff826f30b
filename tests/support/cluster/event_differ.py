"""The events of keys that the model and a real server publish, compared command by command.

Both have a subscriber to all channels of events. Behind each command comes a message on a channel of its own, which
shows where the command's events end.
"""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import hiredis
from support.cluster.command_differ import Command, Differ, Difference, Moment, Program, WireClient

from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.sim.redis.channels import ChannelKind
from zonelab.cluster.zone import Address

PATTERN = b"__key*__:*"
_END = b"command-ended"

FLAGS = ("KEAn", "KEA", "KA", "EA", "Kg$", "Ezt", "KElsh", "Exn", "KEg", "A", "KEe")
"""Settings that are compared, one after the other: each class is there alone or with few others."""

Event = tuple[bytes, bytes]
"""A channel and what is published there."""


class Listener:
    """A subscriber to the events of a real server."""

    def __init__(self, address: Address) -> None:
        self._socket = socket.create_connection((address.host, address.port), timeout=60)
        self._reader = hiredis.Reader()
        self._socket.sendall(hiredis.pack_command((b"PSUBSCRIBE", PATTERN)))
        self._socket.sendall(hiredis.pack_command((b"SUBSCRIBE", _END)))
        self._message(), self._message()

    def events(self) -> list[Event]:
        """Return what was published until the end of a command."""
        events: list[Event] = []
        while (message := self._message())[0] == b"pmessage":
            events.append((message[2], message[3]))
        return events

    def close(self) -> None:
        self._socket.close()

    def _message(self) -> list[bytes]:
        while (message := self._reader.gets()) is False:
            data = self._socket.recv(1 << 18)
            assert data, "the server closed the connection"
            self._reader.feed(data)
        assert isinstance(message, list)
        return message


class RecordedModel:
    """A model of which it is recorded what each command publishes."""

    def __init__(self, model: RedisModel) -> None:
        self._model = model
        self._heard: list[Event] = []
        self._by_command: dict[int, list[Event]] = {}
        self.store = model.store
        self.execute_hidden = model.execute
        model.store.channels.subscribe(ChannelKind.PATTERN, PATTERN, lambda message: self._hear(message))

    def _hear(self, message: Sequence[bytes]) -> None:
        self._heard.append((message[2], message[3]))

    def execute(self, command: Command) -> object:
        self._heard = []
        reply = self._model.execute(command)
        self._by_command[id(command)] = self._heard
        return reply

    def events_of(self, command: Command) -> list[Event]:
        """Return the events of ``command``, without those of other commands that were needed to compare it."""
        return self._by_command.pop(id(command), [])

    def end_due(self) -> list[Event]:
        """Return what is published when the server's own cycle comes."""
        self._heard = []
        self.store.tick()
        self.store.end_due()
        return self._heard

    def notice(self, keys: Sequence[bytes]) -> list[Event]:
        """Return what is published when the server's own cycle comes by ``keys``."""
        self._heard = []
        for key in keys:
            self.store.find(key)
        return self._heard


def _expired(events: Sequence[Event]) -> list[bytes]:
    """Return the keys whose end comes first: the server may have noticed it by itself, between two commands."""
    keys: dict[bytes, None] = {}
    for channel, message in events:
        if not channel.endswith(b":expired") and message != b"expired":
            break
        keys[message if channel.endswith(b":expired") else channel.partition(b":")[2]] = None
    return list(keys)


@dataclass(frozen=True)
class EventDifference(Difference):
    """The first command whose events differ, and those: the server's and the model's."""

    def __str__(self) -> str:
        return super().__str__().replace("the server answers", "the server publishes")


class EventDiffer(Differ):
    """Compares what is published beside what is answered, with the setting ``flags``."""

    def __init__(
        self,
        client: WireClient,
        *,
        listener: Listener,
        protocol: int,
        flags: str,
        make: Callable[..., RedisModel] = RedisModel,
    ) -> None:
        super().__init__(client, protocol=protocol, make=make)
        self._listener, self._flags = listener, flags
        self.events = 0
        self.kinds: dict[bytes, int] = {}

    def begin(self) -> tuple[RecordedModel, Moment]:
        self._client.execute([(b"CONFIG", b"SET", b"notify-keyspace-events", self._flags.encode())])
        model, moment = super().begin()
        self._client.execute([(b"PUBLISH", _END, b"")])
        self._listener.events()  # keys of the program before may have ended by themselves
        model.store.publish_events(EventFlags.read(self._flags))
        return RecordedModel(model), moment

    def compare(self, model: RecordedModel, program: Program, commands: Program) -> Difference | None:
        commands = [tuple(command) for command in commands]
        self.executed += len(commands)
        begin = len(program) - len(commands)
        marked = [each for command in commands for each in (command, (b"PUBLISH", _END, b""))]
        replies = self._client.execute(marked)[::2]
        published = [self._listener.events() for _ in commands]
        for place, (command, real, events) in enumerate(zip(commands, replies, published, strict=True)):
            before = model.notice(_expired(events))
            simulated = self._answer(model, command, real)
            if simulated is not None:
                return Difference(program, begin + place, real, simulated)
            mine = [*before, *model.events_of(command)]
            mine += model.notice(_expired(events[len(mine) :]))
            self._count(events)
            if mine != events and not (command[0].upper() == b"SCAN" and sorted(mine) == sorted(events)):
                return EventDifference(program, begin + place, repr(events).encode(), repr(mine).encode())
        return None

    def _count(self, events: Sequence[Event]) -> None:
        self.events += len(events)
        for channel, message in events:
            name = message if channel.startswith(b"__keyspace") else channel.partition(b":")[2]
            self.kinds[name] = self.kinds.get(name, 0) + 1
