"""The command table: what the port does with each command, from the servers' own ``COMMAND`` reply.

Names, arity, flags and sub-commands come from the servers. Routes come from Dynomite's classes
(``zonelab.cluster.commands.routes``) where it has one for the command, and from the flags where it has none. What
remains by hand are the few commands that change the state of a connection, which many clients share here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from zonelab.cluster.commands.routes import BROADCASTS, LOCAL_READS, MAY_STORE, READING, READS, CommandRoute
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.key_specs import KeySpec, key_specs
from zonelab.cluster.resp.protocol.remembered_scripts import EVALUATING
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.engine.ports import Command


class Treatment(Enum):
    """The port's treatment of a command."""

    FORWARD = auto()  # hands it to the coordinator
    CONTAINER = auto()  # looks at the sub-command
    PORT = auto()  # answers itself
    TRANSACTION = auto()  # MULTI, EXEC, DISCARD, WATCH, UNWATCH
    BLOCKING = auto()  # waits at the port, not at the server
    SCRIPT = auto()  # EVAL where scripts are remembered: forwarded, and taken a note of
    STORING = auto()  # SORT, GEORADIUS: a read or a write, as its arguments say
    INFO = auto()  # forwarded; what the answer says of clients is the port's
    SORTED = auto()  # SMEMBERS: sent in another form at one level
    SUBSCRIPTION = auto()  # a connection of the client's own to the server of the own zone
    REFUSE = auto()


class CommandKind:
    """Commands that the coordinator treats alike, so that a run of them may travel as one batch.

    The coordinator learns the route from ``example``, which stands for any of them.
    """

    __slots__ = ("_runs", "example", "reads", "route")

    def __init__(self, route: CommandRoute, example: Command) -> None:
        self.route = route
        self.example = example
        self.reads = route in READING
        self._runs: dict[tuple[int, int], WireCommands] = {}

    def run(self, count: int, protocol: int) -> WireCommands:
        """``count`` commands of this kind, to be answered in RESP version ``protocol``."""
        made = self._runs.get((count, protocol))
        if made is None:
            made = WireCommands([self.example] * count, protocol=protocol)
            if count <= _RUNS_KEPT:
                self._runs[count, protocol] = made
        return made


_RUNS_KEPT = 256

KINDS = {
    CommandRoute.READ: CommandKind(CommandRoute.READ, ("GET",)),
    CommandRoute.LOCAL_READ: CommandKind(CommandRoute.LOCAL_READ, ("PING",)),
    CommandRoute.BROADCAST: CommandKind(CommandRoute.BROADCAST, ("SCRIPT",)),
    CommandRoute.WRITE: CommandKind(CommandRoute.WRITE, ("SET",)),
}
_KINDS_BY_NAME = {"MGET": CommandKind(CommandRoute.READ, ("MGET",))}
"""Commands that the coordinator does not treat as all others of their route, as far as a port can know."""

_PORT = frozenset({"AUTH", "CLIENT", "ECHO", "HELLO", "QUIT", "RESET", "SELECT"})
_TRANSACTION = frozenset({"DISCARD", "EXEC", "MULTI", "UNWATCH", "WATCH"})
_SUBSCRIPTION = frozenset({"PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUBSCRIBE", "SUNSUBSCRIBE", "UNSUBSCRIBE"})
_LOCAL = LOCAL_READS | {
    "COMMAND",
    "LASTSAVE",
    "LATENCY",
    "LOLWUT",
    "MEMORY|STATS",
    "PUBSUB",
    "RANDOMKEY",
    "ROLE",
    "SLOWLOG",
}
_ALLOWED_SUBCOMMANDS = {
    "CONFIG": frozenset({"GET", "HELP"}),
    "LATENCY": frozenset({"DOCTOR", "GRAPH", "HELP", "HISTOGRAM", "HISTORY", "LATEST"}),
    "MEMORY": frozenset({"DOCTOR", "HELP", "STATS", "USAGE"}),
    "SCRIPT": frozenset({"EXISTS", "FLUSH", "HELP", "KILL", "LOAD", "SHOW"}),
}
_REFUSED = {
    "ACL": "users are the servers' own business",
    "ASKING": "the zones are not a Redis Cluster",
    "CLUSTER": "the zones are not a Redis Cluster",
    "COMMANDLOG": "it belongs to one server",
    "MIGRATE": "it would move keys out of one zone only",
    "MOVE": "there is database 0 only",
    "MODULE": "modules belong to one server",
    "READONLY": "the zones are not a Redis Cluster",
    "READWRITE": "the zones are not a Redis Cluster",
    "SLOWLOG": "it belongs to one server",
    "SWAPDB": "there is database 0 only",
    "WAIT": "zones are not replicas of each other; choose a consistency level instead",
    "WAITAOF": "zones are not replicas of each other; choose a consistency level instead",
}
_ADMIN = "it would act on one server behind the coordinator's back"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandDescription:
    """A command, or a sub-command called ``NAME|SUB``.

    ``arity`` counts the name; a negative one is a minimum. ``reason`` says why a refused one is refused.
    ``key_specs``: None if the server has none for this command; then ``first_key`` and so on say where its keys are.
    """

    name: str
    arity: int
    flags: frozenset[str]
    first_key: int
    last_key: int
    key_step: int
    treatment: Treatment
    kind: CommandKind
    reason: str = ""
    key_specs: tuple[KeySpec, ...] | None = None

    def accepts(self, arguments: int) -> bool:
        """This many arguments, the name counted, may be right."""
        return arguments == self.arity if self.arity >= 0 else arguments >= -self.arity

    def keys(self, arguments: Sequence[bytes]) -> list[bytes]:
        """The keys of a call, the name being its first argument."""
        if self.key_specs is not None:
            return [key for spec in self.key_specs for key in spec.keys(arguments)]
        if self.first_key <= 0:
            return []
        last = self.last_key if self.last_key >= 0 else len(arguments) + self.last_key
        return list(arguments[self.first_key : last + 1 : max(1, self.key_step)])


class CommandTable:
    """Looks commands up by name, in any case."""

    def __init__(self, specs: Iterable[CommandDescription]) -> None:
        self._specs = {spec.name: spec for spec in specs}
        # Both usual spellings can be looked up as they come from the client.
        self.by_name: dict[bytes, CommandDescription] = {}
        for name, spec in self._specs.items():
            self.by_name[name.encode()] = self.by_name[name.lower().encode()] = spec

    def __len__(self) -> int:
        return len(self._specs)

    def __getitem__(self, name: str) -> CommandDescription:
        return self._specs[name.upper()]

    def find(self, name: bytes) -> CommandDescription | None:
        return self.by_name.get(name) or self.by_name.get(name.upper())

    def find_subcommand(self, container: CommandDescription, arguments: Sequence[bytes]) -> CommandDescription | None:
        if len(arguments) < 2:
            return None
        return self.by_name.get(container.name.encode() + b"|" + arguments[1].upper())

    def remembering_scripts(self) -> "CommandTable":
        """The same table for a port that takes a note of scripts, which it does not do with commands of ``FORWARD``."""
        return CommandTable(
            replace(spec, treatment=Treatment.SCRIPT) if spec.name in EVALUATING else spec
            for spec in self._specs.values()
        )

    def counts(self) -> Mapping[str, int]:
        """Return how many commands get each treatment."""
        counts: dict[str, int] = {}
        for spec in self._specs.values():
            counts[spec.treatment.name.lower()] = counts.get(spec.treatment.name.lower(), 0) + 1
        return counts


def table_from(reply: Sequence[Any]) -> CommandTable:
    """The table out of a parsed ``COMMAND`` reply. Raises ``ValueError`` if it is none."""
    try:
        return CommandTable(spec for entry in reply for spec in _specs(entry, container=None))
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not the reply to COMMAND: {error}") from error


def _specs(entry: Sequence[Any], *, container: str | None) -> Iterable[CommandDescription]:
    name = wire.text(entry[0]).upper()
    flags = frozenset(wire.text(flag) for flag in entry[2])
    subcommands: Sequence[Any] = entry[9] if len(entry) > 9 else ()
    treatment, reason = _treatment(name, container or name, flags, contains=bool(subcommands))
    route = _route(name, container or name, flags, keys=entry[3] != 0 or "movablekeys" in flags)
    yield CommandDescription(
        name=name,
        arity=entry[1],
        flags=flags,
        first_key=entry[3],
        last_key=entry[4],
        key_step=entry[5],
        treatment=treatment,
        kind=_KINDS_BY_NAME.get(name, KINDS[route]),
        reason=reason,
        key_specs=key_specs(entry[8]) if len(entry) > 8 and entry[8] else None,
    )
    for subcommand in subcommands:
        yield from _specs(subcommand, container=name)


def _treatment(name: str, base: str, flags: frozenset[str], *, contains: bool) -> tuple[Treatment, str]:
    subcommand = name.partition("|")[2]
    if base in _PORT:
        return Treatment.PORT, ""
    if base in _TRANSACTION:
        return Treatment.TRANSACTION, ""
    if base in _SUBSCRIPTION:
        return Treatment.SUBSCRIPTION, ""
    if base == "INFO":
        return Treatment.INFO, ""
    if base == "SMEMBERS":
        return Treatment.SORTED, ""
    if base in MAY_STORE:
        return Treatment.STORING, ""
    if base in _REFUSED:
        return Treatment.REFUSE, _REFUSED[base]
    if subcommand and base in _ALLOWED_SUBCOMMANDS and subcommand not in _ALLOWED_SUBCOMMANDS[base]:
        return Treatment.REFUSE, _ADMIN
    if contains and base not in ("COMMAND",):
        return Treatment.CONTAINER, ""
    if "blocking" in flags:
        return Treatment.BLOCKING, ""
    if "admin" in flags and not subcommand:
        return Treatment.REFUSE, _ADMIN
    return Treatment.FORWARD, ""


def _route(name: str, base: str, flags: frozenset[str], *, keys: bool) -> CommandRoute:
    if base in READS:
        return CommandRoute.READ
    if name in _LOCAL or base in _LOCAL:
        return CommandRoute.LOCAL_READ
    if base in BROADCASTS:
        return CommandRoute.BROADCAST
    if name.partition("|")[2] == "HELP":
        return CommandRoute.LOCAL_READ
    known_to_dynomite_as_write = name in ("TTL", "PFCOUNT")
    reads = "readonly" in flags or base in ("OBJECT", "MEMORY", "XINFO")
    if not reads or "write" in flags or known_to_dynomite_as_write:
        return CommandRoute.WRITE
    return CommandRoute.READ if keys else CommandRoute.LOCAL_READ
