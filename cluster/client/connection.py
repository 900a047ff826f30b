"""A client's connection with a state of its own: transactions, watched keys, waits, subscriptions, its name."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from zonelab.cluster.client.inbox import SubscriberInbox
from zonelab.cluster.client.place import ClientPlace
from zonelab.cluster.client.transactions import (
    ABORTED,
    QUEUE_MAX,
    WatchedKeys,
    answered_everywhere,
    watched_everywhere,
)
from zonelab.cluster.client.waiting import LOOK_BYTES
from zonelab.cluster.commands.routes import is_write, upper
from zonelab.cluster.commands.waiting_forms import (
    ARITIES,
    STREAM_NAMES,
    Attempt,
    Misstated,
    Waiting,
    last_entries_wanted,
    last_entry,
    latest,
    stream_form,
    stream_keys,
    waiting_form,
)
from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.marked import MarkedCommands
from zonelab.cluster.coordinators.coordinator import COORDINATOR_DIED, COORDINATOR_DOWN, Coordinator
from zonelab.cluster.votes.levels import Level, Setting, read_level, write_level
from zonelab.cluster.zone import ClusterError
from zonelab.engine.ports import Command, Indeterminate, Reply, ServerError, Unavailable

_OK = b"OK"
_SUBSCRIPTION = ("PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUBSCRIBE", "SUNSUBSCRIBE", "UNSUBSCRIBE")
_WHILE_SUBSCRIBED = (*_SUBSCRIPTION, "PING", "QUIT", "RESET")
_TRANSACTION = frozenset({"DISCARD", "EXEC", "RESET", "UNWATCH"})
_ONLY_OUTSIDE = frozenset({"MULTI", "WATCH"})


class ClientConnection:
    """``Connection`` of one program at ``setting``, which keeps what a client's connection to a RESP port keeps.

    One call at a time. Blocking commands wait; ``message`` has what comes to a subscriber. A coordinator that dies
    takes the state with it: what is called next raises ``Unavailable``, once, and finds a new connection.
    """

    def __init__(self, place: ClientPlace, setting: Setting) -> None:
        self._place = place
        self._setting = setting
        self._identity = place.next_identity()
        self._deaths = place.coordinator.deaths
        self._busy = False
        self._name = b""
        self._queued: list[Command] | None = None
        self._queue_failed = False
        self._watching: WatchedKeys | None = None
        self._has_written = False
        self._inbox = SubscriberInbox(place.runtime)

    @property
    def subscribed(self) -> bool:
        """Messages can come: it does nothing but subscribe, unsubscribe and PING."""
        return bool(self._inbox.names)

    async def execute(self, *commands: Command) -> list[Reply]:
        """Carry out ``commands`` in order, as a server would that got them on one connection.

        A command of the subscribe family is answered when it is sent; what the server says comes as ``message``. Raises
        ``Unavailable`` and ``Indeterminate`` as every ``Connection``, and ``ClusterError`` while another call goes on.
        """
        if self._busy:
            raise ClusterError("a client's own connection has one call at a time, as it has a state; open another one")
        self._busy = True
        try:
            self._check_alive()
            return await self._in_order(commands)
        finally:
            self._busy = False

    async def message(self, *, wait_ns: int | None = None) -> list[Reply] | None:
        """Return what has come to the subscriber next: a confirmation or a message; None after ``wait_ns``.

        Raises ``Unavailable`` if the connection to the server is lost.
        """
        return await self._inbox.next(wait_ns=wait_ns)

    def close(self) -> None:
        """Forget everything, as when a program's connection ends."""
        self._queued, self._queue_failed, self._name = None, False, b""
        self._forget_watch()
        self._inbox.clear()

    def _check_alive(self) -> None:
        coordinator = self._place.coordinator
        self._inbox.check()
        if self._deaths != coordinator.deaths:
            self._deaths = coordinator.deaths
            held = self._queued is not None or self._watching is not None or self._inbox.subscriber is not None
            self.close()
            if held:
                raise Unavailable(COORDINATOR_DIED)
        if not coordinator.running:
            raise Unavailable(COORDINATOR_DOWN)

    async def _in_order(self, commands: Sequence[Command]) -> list[Reply]:
        replies: list[Reply] = []
        run: list[Command] = []
        for command in commands:
            handle = self._handler(command)
            if handle is None:
                run.append(command)
                continue
            if run:
                replies += await self._send(run)
                run = []
            reply = handle(command)
            replies.append(await reply if isinstance(reply, Coroutine) else reply)
        return replies + (await self._send(run) if run else [])

    async def _send(self, commands: Sequence[Command]) -> list[Reply]:
        self._has_written = self._has_written or any(map(is_write, commands))
        return await self._place.coordinator.execute(self._setting, commands)

    def _handler(self, command: Command) -> Callable[[Command], Reply | Coroutine[Any, Any, Reply]] | None:
        """Return what carries out ``command``; None if it is sent as it is."""
        name = upper(command[0])
        if self.subscribed and name not in _WHILE_SUBSCRIBED:
            return _restricted
        handler = _HANDLERS.get(name)
        if handler is not None and not _accepts(_ARITIES.get(name, -1), len(command)):
            return self._refuse_arity
        if self._queued is None:
            return None if handler is None else partial(handler, self)
        if name in _ONLY_OUTSIDE:
            return self._refuse_inside
        if handler is None or name in _IN_QUEUE:
            return self._queue
        return partial(handler, self) if name in _TRANSACTION else self._refuse_here

    def _queue(self, command: Command) -> Reply:
        assert self._queued is not None
        refused = self._place.refusal(command)
        if refused is None and len(self._queued) >= QUEUE_MAX:
            refused = "ERR the transaction is too large"
        if refused is None:
            self._queued.append(command)
            return b"QUEUED"
        self._queue_failed = True
        return ServerError(refused)

    def _refuse_inside(self, command: Command) -> Reply:
        self._queue_failed = True
        return ServerError(f"ERR Command '{upper(command[0]).lower()}' not allowed inside a transaction")

    def _refuse_here(self, command: Command) -> Reply:
        self._queue_failed = True
        return ServerError(f"ERR {upper(command[0])} is not available inside MULTI here")

    def _refuse_arity(self, command: Command) -> Reply:
        name = upper(command[0])
        wrong = f"wrong number of arguments for '{name.lower()}' command"
        if name == "EXEC":
            self._leave()
            return ServerError(f"EXECABORT Transaction discarded because of: {wrong}")
        self._queue_failed = True
        return ServerError(f"ERR {wrong}")

    def _multi(self, command: Command) -> Reply:
        if self._place.without:
            return ServerError(f"ERR MULTI is not available here: {self._place.without}")
        self._queued, self._queue_failed = [], False
        return _OK

    def _discard(self, command: Command) -> Reply:
        if self._queued is None:
            return ServerError("ERR DISCARD without MULTI")
        self._leave()
        return _OK

    def _leave(self) -> None:
        self._queued = None
        self._forget_watch()

    def _forget_watch(self) -> None:
        if self._watching is not None:
            watching, self._watching = self._watching, None
            self._place.release(watching.coordinator)

    def _unwatch(self, command: Command) -> Reply:
        if self._queued is not None:
            return self._queue(command)
        self._forget_watch()
        return _OK

    async def _exec(self, command: Command) -> Reply:
        queued = self._queued
        if queued is None:
            return ServerError("ERR EXEC without MULTI")
        try:
            if self._queue_failed:
                return ServerError(ABORTED)
            return await self._execute(queued) if queued or self._watching is not None else []
        finally:
            self._leave()

    async def _execute(self, queued: list[Command]) -> Reply:
        writes = any(map(is_write, queued))
        watching = self._watching
        marks: dict[str, Any] = {"replies": len(queued) + 2, "queued": tuple(queued)}
        coordinator = self._place.coordinator
        if watching is not None:
            await self._written_everywhere(watching)
            marks["watched"], coordinator = watching.mark, watching.coordinator
        else:
            self._has_written = True
        commands = MarkedCommands([("EXEC",) if writes else ("GET",)], **marks)
        (reply,) = await coordinator.execute(self._setting, commands)
        if watching is not None:
            await self._answered(coordinator)
        if self._deaths != self._place.coordinator.deaths:
            raise Indeterminate(COORDINATOR_DIED) if writes else Unavailable(COORDINATOR_DIED)
        return reply

    async def _watch(self, command: Command) -> Reply:
        if self._place.without:
            return ServerError(f"ERR WATCH is not available here: {self._place.without}")
        if self._watching is None:
            self._watching = WatchedKeys(await self._place.lease())
        watching = self._watching
        await self._written_everywhere(watching)
        watching.number += 1
        commands = MarkedCommands([("WATCH",)], watches=watching.mark, queued=(command,))
        channels, promise = watching.coordinator.channels, self._place.runtime.promise
        batch = Batch(commands, writes=False)
        reply = await watched_everywhere(promise, channels, batch, level=write_level(self._setting))
        self._still_alive()
        return reply

    async def _written_everywhere(self, watching: WatchedKeys) -> None:
        """Wait until what the client has written by another way has arrived where it watches keys."""
        if self._has_written:
            await self._answered(self._place.coordinator)
            self._has_written = False

    def _answered(self, coordinator: Coordinator) -> Awaitable[None]:
        batch = Batch([("PING",)], writes=True)  # with the time-out of what it comes behind
        return answered_everywhere(self._place.runtime.promise, coordinator.channels, batch)

    async def _wait(self, command: Command) -> Reply:
        form = waiting_form(upper(command[0]), _encoded(command))
        if isinstance(form, Misstated):
            return ServerError(form.error) if form.error else (await self._send([form.words]))[0]
        assert isinstance(form, Waiting)
        level, room = read_level(self._setting), self._place.room
        attempt = partial(room.first_of, _ProgramLooker(self), form.attempts, level=level)
        looks = len(form.keys) + max(sum(map(len, one.words)) for one in form.attempts) // LOOK_BYTES
        return await room.wait(attempt, form.timeout_s, looks=looks, keys=form.keys, level=level)

    async def _wait_for_stream(self, command: Command) -> Reply:
        form = stream_form(_encoded(command))
        if form.timeout_s is None:
            return (await self._send([form.words]))[0]
        words = list(form.words)
        for place, key in last_entries_wanted(words).items():
            words[place] = await self._last_of(key)
        sent = tuple(words)

        async def attempt() -> Reply:
            self._still_alive()
            (reply,) = await self._send([sent])
            return reply or None

        looks = 1 + sum(map(len, sent)) // LOOK_BYTES
        return await self._place.room.wait(attempt, form.timeout_s, looks=looks, keys=stream_keys(sent))

    async def _last_of(self, key: bytes) -> bytes:
        """The last entry of the own zone or of the level, whichever is later: the own zone may have missed some."""
        found = []
        for level in dict.fromkeys((Level.DC_ONE, read_level(self._setting))):
            (reply,) = await self._place.coordinator.execute(level, [last_entry(key)])
            if isinstance(reply, list) and reply:
                found.append(reply[0][0])
        return latest(found)

    def _still_alive(self) -> None:
        if self._deaths != self._place.coordinator.deaths:
            raise Unavailable(COORDINATOR_DIED)

    async def _subscribe(self, command: Command) -> Reply:
        name, names = upper(command[0]), _encoded(command)[1:]
        await self._inbox.ask(command, name, names, self._place.subscribe)
        return None

    def _ping(self, command: Command) -> Reply | Coroutine[Any, Any, Reply]:
        if not self.subscribed:
            return self._sent_alone(command)
        self._inbox.put([b"pong", _encoded(command)[1] if len(command) > 1 else b""])
        return None

    async def _sent_alone(self, command: Command) -> Reply:
        return (await self._send([command]))[0]

    def _select(self, command: Command) -> Reply:
        if _encoded(command)[1:] == (b"0",):
            return _OK
        return ServerError("ERR DB index is out of range: a cluster of zones has database 0 only")

    def _client(self, command: Command) -> Reply:
        verb, *words = (word.upper() if not at else word for at, word in enumerate(_encoded(command)[1:]))
        if verb == b"SETNAME" and len(words) == 1:
            if not all(0x21 <= byte <= 0x7E for byte in words[0]):
                return ServerError("ERR Client names cannot contain spaces, newlines or special characters.")
            self._name = words[0]
            return _OK
        if verb == b"GETNAME":
            return self._name or None
        if verb == b"ID":
            return self._identity
        if verb in (b"SETINFO", b"NO-EVICT", b"NO-TOUCH", b"CAPA"):
            return _OK
        return ServerError(f"ERR CLIENT {verb.decode('latin-1')} is not available through a coordinator")

    def _reset(self, command: Command) -> Reply:
        self.close()
        return b"RESET"


class _ProgramLooker:
    """``Looker`` of one program's connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def look(self, keys: tuple[bytes, ...]) -> Reply | bool:
        self._connection._still_alive()
        (reply,) = await self._connection._place.coordinator.execute(Level.DC_ONE, [("EXISTS", *keys)])
        return reply if isinstance(reply, ServerError) else reply != 0

    async def take(self, attempt: Attempt) -> Reply | None:
        (reply,) = await self._connection._send([attempt.words])
        if reply is None or reply == []:
            return None
        if attempt.named is None or isinstance(reply, ServerError):
            return reply
        return [attempt.named, *(reply if isinstance(reply, list) else [reply])]


def _restricted(command: Command) -> Reply:
    return ServerError(
        f"ERR Can't execute '{upper(command[0]).lower()}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET"
        " are allowed in this context"
    )


def _accepts(arity: int, words: int) -> bool:
    return words == arity if arity >= 0 else words >= -arity


def _encoded(command: Command) -> tuple[bytes, ...]:
    """``command`` in the words that a server reads."""
    return tuple(word if isinstance(word, bytes) else str(word).encode() for word in command)


_ARITIES = {
    **dict.fromkeys(("DISCARD", "EXEC", "MULTI", "UNWATCH"), 1),
    **dict.fromkeys(("CLIENT", "PSUBSCRIBE", "SSUBSCRIBE", "SUBSCRIBE", "WATCH"), -2),
    "SELECT": 2,
    **dict.fromkeys(sorted(STREAM_NAMES), -4),
    **ARITIES,
}
"""Number of words of a command, or if negative the smallest number."""

_IN_QUEUE = STREAM_NAMES | ARITIES.keys() | {"PING"}
"""Commands that are queued like any others inside MULTI, where nothing waits."""

_HANDLERS: dict[str, Callable[[ClientConnection, Command], Reply | Coroutine[Any, Any, Reply]]] = {
    "CLIENT": ClientConnection._client,
    "DISCARD": ClientConnection._discard,
    "EXEC": ClientConnection._exec,
    "MULTI": ClientConnection._multi,
    "PING": ClientConnection._ping,
    "RESET": ClientConnection._reset,
    "SELECT": ClientConnection._select,
    "UNWATCH": ClientConnection._unwatch,
    "WATCH": ClientConnection._watch,
    **dict.fromkeys(ARITIES, ClientConnection._wait),
    **dict.fromkeys(sorted(STREAM_NAMES), ClientConnection._wait_for_stream),
    **dict.fromkeys(_SUBSCRIPTION, ClientConnection._subscribe),
}
