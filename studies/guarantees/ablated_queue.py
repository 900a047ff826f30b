"""The dyno queue with safety mechanisms switched off, to see what they are good for.

The engine stays as it is. What a queue without a mechanism would send is made out of what the queue sends, on its way
to the coordinator: a flag is left out, an answer is ignored, two commands change places. A crash of the program falls
between the commands as they are then sent.
"""

import pkgutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

from zonelab.analysis.message_classes import MessageClass
from zonelab.cluster.testbed import Testbed
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno import DynoQueue, QueueKeys
from zonelab.engine.dyno.hardened import Hardening
from zonelab.engine.dyno.v1.commands import V1Commands
from zonelab.engine.fifo.fenced.mechanisms import Fencing
from zonelab.engine.message import Delivery
from zonelab.engine.ports import Command, Connection, Reply, ServerError
from zonelab.engine.queue import Queue
from zonelab.scenarios.errors import did_you_mean
from zonelab.scenarios.fault_draws.fault_classes import EngineMode
from zonelab.scenarios.faults.zones import Kill
from zonelab.scenarios.queues.dyno import NAME, PREFIX, DynoUnderTest
from zonelab.scenarios.queues.ordered.fifo_fenced import FencedUnderTest
from zonelab.scenarios.queues.under_test import QueueUnderTest, Wrap
from zonelab.scenarios.spec.engines import shipped
from zonelab.scenarios.spec.replication import Handoff
from zonelab.scenarios.spec.scenario import Checks, Scenario
from zonelab.studies.guarantees.mechanisms import MECHANISMS, OPTIONS, DynoMechanism, Mechanism

ORDERED = "fifo"
"""The engine whose mode fenced is made of what ``Fencing`` names."""

ENGINE = "dyno"
"""Whose own mechanisms ``DynoMechanism`` names; those of hardened mode are the same in every engine that has it."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """A queue, and the runs it is in, without the mechanisms ``off``. ``make_queue`` can be pickled.

    ``mode``, ``engine``: the queue that they are switched off in. ``on``: options that are switched on.
    """

    off: tuple[Mechanism, ...] = ()
    mode: EngineMode = EngineMode.DEFAULT
    on: tuple[Mechanism, ...] = ()
    engine: str = ENGINE

    @classmethod
    def of(cls, *off: Mechanism, engine: str = ENGINE) -> "Ablation":
        """Raises ``ValueError`` if no queue of ``engine`` has all of them."""
        fencing = [mechanism for mechanism in off if isinstance(mechanism, Fencing)]
        if engine == ORDERED or fencing:
            if engine != ORDERED or len(fencing) < len(off):
                raise ValueError(f"got {', '.join(off)}; accepted with engine {ORDERED} only: {', '.join(Fencing)}")
            return cls(off, EngineMode.FENCED, engine=engine)
        hardening = [mechanism for mechanism in off if isinstance(mechanism, Hardening)]
        if hardening and len(hardening) < len(off):
            raise ValueError(f"got {', '.join(off)}; accepted: mechanisms of hardened mode, or others, not both")
        if engine != ENGINE and len(hardening) < len(off):
            raise ValueError(f"got {', '.join(off)}; accepted with engine {engine}: {', '.join(Hardening)}")
        return cls(off, EngineMode.HARDENED if hardening else EngineMode.DEFAULT, engine=engine)

    @property
    def name(self) -> str:
        return " + ".join(self.off) or "none off"

    @property
    def twin(self) -> "Ablation":
        """What its runs are compared with: the same with nothing off."""
        options = tuple(option for option in self.off if option in OPTIONS)
        return replace(self, off=(), on=options) if self.off else self

    def scenario(self, scenario: Scenario) -> Scenario:
        """``scenario`` as it is run without the mechanisms: its options, what is forbidden, how zones restart."""
        if DynoMechanism.HINTED_HANDOFF in self.on:
            replication = scenario.replication.model_copy(update={"hinted_handoff": Handoff()})
            scenario = scenario.model_copy(update={"replication": replication})
        if self.mode is EngineMode.FENCED:
            return scenario
        if self.mode is EngineMode.HARDENED:
            forbid = (*scenario.checks.forbid, MessageClass.ZOMBIE_ACK)
            checks = Checks(forbid=forbid, late_ms=scenario.checks.late_ms)
            return scenario.model_copy(update={"checks": checks})
        if DynoMechanism.WARM_RESTART not in self.off:
            return scenario
        faults = tuple(
            fault.model_copy(update={"restart": "keep"}) if isinstance(fault, Kill) else fault
            for fault in scenario.faults
        )
        return scenario.model_copy(update={"faults": faults})

    def make_queue(self, testbed: Testbed, scenario: Scenario) -> QueueUnderTest:
        """The queue without the mechanisms."""
        if self.mode is EngineMode.FENCED:
            return FencedUnderTest(testbed, scenario, without=[one for one in self.off if isinstance(one, Fencing)])
        if self.mode is EngineMode.HARDENED:
            without = [mechanism for mechanism in self.off if isinstance(mechanism, Hardening)]
            hardened: QueueUnderTest = pkgutil.resolve_name(shipped(scenario.queue).make)(
                testbed, scenario, without=without
            )
            return hardened
        return _AblatedDyno(testbed, scenario, self.off)


def parse_ablation(text: str, *, engine: str = ENGINE) -> Ablation:
    """``lease-nx`` or ``lease-nx,remove-check``. Raises ``ValueError``."""
    by_name = {str(mechanism): mechanism for mechanism in (Fencing if engine == ORDERED else MECHANISMS)}
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise ValueError(f"got {unknown[0]!r}{did_you_mean(unknown[0], by_name)}; accepted: {', '.join(by_name)}")
    return Ablation.of(*(by_name[name] for name in names), engine=engine)


class _AblatedDyno(DynoUnderTest):
    def __init__(self, testbed: Testbed, scenario: Scenario, off: Collection[Mechanism]) -> None:
        super().__init__(testbed, scenario)
        self._connection = testbed.connection
        self._level = scenario.level
        self._off = off
        self._queue_keys = _QueueKeys(scenario.zones)

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        queue = await super().consumer(zone, self._with_swapped_requeue(wrap))
        if DynoMechanism.ACK_LEASE_FIRST not in self._off:
            return queue
        return _PayloadFirst(queue, V1Commands(wrap(self._connection(zone, self._level))), self._queue_keys)

    def _with_swapped_requeue(self, wrap: Wrap) -> Wrap:
        """Only consumers requeue; a producer lists an id with the same command."""
        if DynoMechanism.REQUEUE_BEFORE_UNLEASE not in self._off:
            return wrap
        return lambda connection: _Swapping(wrap(connection), partial(_swapped_requeue, self._queue_keys))

    def _instance(self, zone: str, wrap: Wrap) -> DynoQueue:
        local = wrap(self._connection(zone, Level.DC_ONE))
        return super()._instance(zone, lambda connection: self._altered(wrap(connection), local))

    def _altered(self, connection: Connection, local: Connection) -> Connection:
        """Swaps come last, so that they meet the commands as the queue sends them."""
        off, keys = self._off, self._queue_keys
        for mechanism, rewrite in _REWRITES.items():
            if mechanism in off:
                connection = _Rewriting(connection, partial(rewrite, keys))
        if DynoMechanism.QUORUM_PAYLOAD_READ in off:
            connection = _LocalPayload(connection, local, keys)
        for mechanism, swap in _SWAPS.items():
            if mechanism in off:
                connection = _Swapping(connection, partial(swap, keys))
        return connection


class _QueueKeys:
    """The keys of the queue, and which of them a command is about."""

    def __init__(self, shards: Collection[str]) -> None:
        keys = QueueKeys(prefix=PREFIX, queue=NAME)
        self.shards = tuple(shards)
        self.payloads = keys.messages
        self.waiting = {shard: keys.queue_of(shard) for shard in shards}
        self.leased = {shard: keys.unack(shard) for shard in shards}
        self._names = dict.fromkeys(self.waiting.values(), "waiting")
        self._names |= dict.fromkeys(self.leased.values(), "leased") | {self.payloads: "payloads"}

    def of(self, command: Command) -> str:
        """``ZADD waiting``, say; a command without a key of the queue by its own name."""
        name = str(command[0])
        role = self._names.get(str(command[1])) if len(command) > 1 else None
        return name if role is None else f"{name} {role}"


@dataclass(frozen=True, slots=True)
class _Changed:
    """What is sent in place of a command; ``answered``: the reply is taken for this number, unless it is an error."""

    command: Command
    answered: int | None = None


def _lease_over_any(keys: _QueueKeys, command: Command) -> _Changed | None:
    if keys.of(command) == "ZADD leased" and "NX" in command:
        return _Changed(tuple(word for word in command if word != "NX"), answered=1)
    return None


def _remove_unchecked(keys: _QueueKeys, command: Command) -> _Changed | None:
    return _Changed(command, answered=1) if keys.of(command) == "ZREM waiting" else None


def _find_no_ended_lease(keys: _QueueKeys, command: Command) -> _Changed | None:
    return _range_up_to(command, "-inf") if keys.of(command) == "ZRANGEBYSCORE leased" else None


def _find_every_lease(keys: _QueueKeys, command: Command) -> _Changed | None:
    return _range_up_to(command, "+inf") if keys.of(command) == "ZRANGEBYSCORE leased" else None


def _find_every_waiting(keys: _QueueKeys, command: Command) -> _Changed | None:
    return _range_up_to(command, "+inf") if keys.of(command) == "ZRANGEBYSCORE waiting" else None


def _range_up_to(command: Command, score: str) -> _Changed:
    name, key, low, _, *rest = command
    return _Changed((name, key, low, score, *rest))


_Rewrite = Callable[[_QueueKeys, Command], _Changed | None]

_REWRITES: Mapping[Mechanism, _Rewrite] = {
    DynoMechanism.UNACK_HANDLER: _find_no_ended_lease,
    DynoMechanism.LEASE_NX: _lease_over_any,
    DynoMechanism.REMOVE_CHECK: _remove_unchecked,
    DynoMechanism.DUE_CHECK: _find_every_waiting,
    DynoMechanism.LEASE_END_CHECK: _find_every_lease,
}


class _Rewriting:
    def __init__(self, connection: Connection, change: Callable[[Command], _Changed | None]) -> None:
        self._connection = connection
        self._change = change

    async def execute(self, *commands: Command) -> list[Reply]:
        changed = [self._change(command) or _Changed(command) for command in commands]
        replies = await self._connection.execute(*(one.command for one in changed))
        return [
            reply if one.answered is None or isinstance(reply, ServerError) else one.answered
            for one, reply in zip(changed, replies, strict=True)
        ]


class _LocalPayload:
    def __init__(self, connection: Connection, local: Connection, keys: _QueueKeys) -> None:
        self._connection = connection
        self._local = local
        self._queue_keys = keys

    async def execute(self, *commands: Command) -> list[Reply]:
        read = all(self._queue_keys.of(command) == "HGET payloads" for command in commands)
        return await (self._local if read else self._connection).execute(*commands)


@dataclass(frozen=True, slots=True)
class _Half:
    """One of two commands of one message that change places; ``conditional``: the later is sent if this found it."""

    message_id: str
    first: bool
    conditional: bool = False


def _swapped_pop(keys: _QueueKeys, command: Command) -> _Half | None:
    if keys.of(command) == "ZADD leased" and "NX" in command:
        return _Half(str(command[-1]), first=True)
    if keys.of(command) == "ZREM waiting":
        return _Half(str(command[-1]), first=False, conditional=True)
    return None


def _swapped_requeue(keys: _QueueKeys, command: Command) -> _Half | None:
    if keys.of(command) == "ZADD waiting":
        return _Half(str(command[-1]), first=True)
    return _Half(str(command[-1]), first=False) if keys.of(command) == "ZREM leased" else None


def _swapped_push(keys: _QueueKeys, command: Command) -> _Half | None:
    if keys.of(command) == "HSET payloads":
        return _Half(str(command[2]), first=True)
    return _Half(str(command[-1]), first=False) if keys.of(command) == "ZADD waiting" else None


_SWAPS: Mapping[Mechanism, Callable[[_QueueKeys, Command], _Half | None]] = {
    DynoMechanism.LEASE_BEFORE_REMOVE: _swapped_pop,
    DynoMechanism.PAYLOAD_BEFORE_ID: _swapped_push,
}


class _Swapping:
    """Keeps the first of two commands back, answering 1, and sends it after the second."""

    def __init__(self, connection: Connection, half_of: Callable[[Command], _Half | None]) -> None:
        self._connection = connection
        self._half_of = half_of
        self._kept: dict[str, Command] = {}

    async def execute(self, *commands: Command) -> list[Reply]:
        return [await self._one(command) for command in commands]

    async def _one(self, command: Command) -> Reply:
        half = self._half_of(command)
        if half is not None and half.first:
            self._kept[half.message_id] = command
            return 1
        kept = self._kept.pop(half.message_id, None) if half is not None else None
        (reply,) = await self._connection.execute(command)
        if half is None or kept is None or isinstance(reply, ServerError) or (half.conditional and not reply):
            return reply
        (later,) = await self._connection.execute(kept)
        return later if isinstance(later, ServerError) else reply


class _PayloadFirst:
    """A consumer's queue whose ack is another; pops are those of ``queue``."""

    def __init__(self, queue: Queue, commands: V1Commands, keys: _QueueKeys) -> None:
        self._commands = commands
        self._queue_keys = keys
        self.start, self.push, self.pop, self.close = queue.start, queue.push, queue.pop, queue.close

    async def ack(self, delivery: Delivery, /) -> bool:
        message_id = delivery.message.id
        await self._commands.hdel(self._queue_keys.payloads, message_id)
        for shard in self._queue_keys.shards:
            if await self._commands.zrem(self._queue_keys.leased[shard], message_id):
                return True
        return False
