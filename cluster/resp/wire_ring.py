"""The coordinator of a node behind a RESP port, where zones have several nodes or there are several data centres.

What ``zonelab.cluster.coordinators.token_ring`` says holds. Here clients' commands come as the bytes that they wrote,
and what a command is, and where its keys are, is known from the servers' command table. So every node is sent those
bytes, or, of a command that is taken apart, its own part of them.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import hiredis

from zonelab.cluster.commands.keys import SCRIPTS_WITH_KEYS, rearranged
from zonelab.cluster.commands.routes import READING, CommandRoute, route
from zonelab.cluster.connections.batch import Answer, Batch
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.coordinators.split_commands import Fragment, SplitCommand
from zonelab.cluster.coordinators.token_ring import KEYS_APART, RingCoordinator
from zonelab.cluster.real.upstream import pack
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import CommandDescription, CommandTable, Treatment
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.cluster.votes.levels import Level, Setting, read_level, write_level
from zonelab.cluster.votes.pipeline import Done
from zonelab.cluster.votes.shared_batch import Member
from zonelab.engine.ports import Argument, Command, Reply, ServerError

TRANSACTION_APART = (
    "EXECABORT Transaction discarded because its keys are on different nodes; a hash tag keeps keys together"
)

TOKENS_KEPT = 16_384
TOKEN_KEPT_BYTES_MAX = 128
"""Tokens of so many keys, of this length at most, are remembered."""

_LOCKED_OUT = "NOAUTH"
"""Error with which a coordinator of another data centre refuses one whose password differs."""

_Departure = tuple[WireCommands, Done, bytes]


class WireFragment(Fragment):
    """``run``: the commands as they came, of which this is one, or part of one. ``words``: what the node is to be sent.

    ``packed`` is that in wire form; made of the words when it is first asked for.
    """

    __slots__ = ("_packed", "keys", "run", "words")

    def __init__(
        self,
        run: WireCommands,
        words: Sequence[bytes],
        keys: Sequence[bytes],
        positions: Sequence[int],
        packed: bytes | None = None,
    ) -> None:
        super().__init__(run[0], positions)
        self.run = run
        self.words = words
        self.keys = keys
        self._packed = packed

    @property
    def packed(self) -> bytes:
        if self._packed is None:
            self._packed = pack(tuple(self.words))
        return self._packed


class WireRing(RingCoordinator):
    """``table`` is the servers'. Commands that are submitted are ``WireCommands`` with their wire form beside them."""

    def __init__(self, *, table: CommandTable, **options: Any) -> None:
        super().__init__(**options)
        self._table = table
        self._tokens: dict[bytes, int] = {}
        self._departures: dict[tuple[Coordinator, Setting], list[_Departure]] | None = None

    def _send(self, level: Setting, commands: Sequence[Command], done: Done, packed: bytes | None) -> None:
        if self._are_plain_reads(level, commands):
            self._group(self._dc, 0).submit(level, commands, done, packed=packed)
            return
        split_commands = self._split_each(commands, packed)
        self._forward(level, split_commands)
        self._carry_out(level, split_commands, done, packed)

    def _send_together(
        self, level: Setting, members: Sequence[Member], commands: Sequence[Command], packed: bytes
    ) -> None:
        """Send several clients' commands for one group of nodes together, unless some of them are for every node."""
        if self._are_plain_reads(level, commands):
            self._group(self._dc, 0).submit_together(level, members, commands, packed)
            return
        split = iter(self._split_each(commands, packed))
        shares = [([next(split) for _ in its_commands], done) for its_commands, done in members]
        fragments = [part for split_commands, _ in shares for each in split_commands for part in each.fragments]
        if not any(map(self._is_for_everybody, fragments)):
            self._departures = {}
        for split_commands, done in shares:
            self._forward(level, split_commands)
            self._carry_out(level, split_commands, done)
        departures, self._departures = self._departures, None
        for (group, its_level), waiting in (departures or {}).items():
            _depart(group, its_level, waiting)

    def _are_plain_reads(self, level: Setting, commands: Sequence[Command]) -> bool:
        """Every node of the own data centre can answer them all, and nobody else is asked."""
        reads = self._topology.whole and _route_of(commands[0][0]) in READING
        return reads and read_level(level).rule.other_dcs is None

    def _hand(
        self, group: Coordinator, level: Setting, fragments: Sequence[Fragment], done: Done, packed: bytes | None
    ) -> None:
        departure = _run(fragments), done, packed if packed is not None else _packed(fragments)
        if self._departures is None:
            _depart(group, level, [departure])
        else:
            self._departures.setdefault((group, level), []).append(departure)

    def _keys(self, fragment: Fragment) -> Sequence[bytes]:
        assert isinstance(fragment, WireFragment)
        return fragment.keys

    def _route(self, fragment: Fragment) -> CommandRoute:
        return _route_of(fragment.command[0])

    def _token(self, key: bytes) -> int:
        if self._topology.whole:
            return 0
        token = self._tokens.get(key)
        if token is None:
            token = self._topology.token(key)
            if len(self._tokens) >= TOKENS_KEPT:
                self._tokens.clear()
            if len(key) <= TOKEN_KEPT_BYTES_MAX:
                self._tokens[key] = token
        return token

    def _batch(self, fragments: Sequence[Fragment]) -> Batch:
        return Batch(_run(fragments), writes=True, packed=_packed(fragments))

    def together(self, packed: bytes, count: int) -> tuple[str, ...] | None:
        """Return the servers of the own data centre that have the keys of these commands.

        Empty if the commands have no keys; None if their keys are on different servers.
        """
        keys = [key for words in _cut(packed, count) for key in self._spec(words).keys(words)]
        owners = dict.fromkeys(map(self._owners, keys))
        if len(owners) > 1:
            return None
        return self._dc.owners(self._token(keys[0])) if keys else ()

    def pass_transaction_on(self, run: WireCommands, packed: bytes) -> None:
        """To other data centres; here it has been carried out already."""
        self._forward(Level.DC_ONE, [self._transaction(run, packed)])

    def agrees_with_others(self, level: Setting) -> bool:
        """Writes at ``level`` are voted on in other data centres as well."""
        return bool(self._others) and write_level(level).rule.other_dcs is not None

    def _remote_answered(self, answer: Answer) -> None:
        super()._remote_answered(answer)
        if isinstance(answer, list) and any(str(reply).startswith(_LOCKED_OUT) for reply in answer):
            self.statistics.remote_failed += 1

    def _split_each(self, commands: Sequence[Command], packed: bytes | None) -> list[SplitCommand]:
        assert isinstance(commands, WireCommands)
        assert packed is not None
        if commands.replies > 1:
            return [self._transaction(commands, packed)]
        return [self._split_words(commands, words) for words in _cut(packed, len(commands))]

    def _split_words(self, run: WireCommands, words: list[bytes]) -> SplitCommand:
        spec = self._spec(words)
        if not spec.accepts(len(words)):
            return _refused(run, f"ERR wrong number of arguments for '{spec.name.lower()}' command")
        keys = [] if _route_of(run[0][0]) is CommandRoute.BROADCAST else spec.keys(words)
        if spec.name in SCRIPTS_WITH_KEYS and len(dict.fromkeys(map(self._owners, keys))) > 1:
            return _refused(run, KEYS_APART)
        join = _JOINED.get(spec.name)
        if join is not None and len(keys) > 1 and (len(words) - 1) % spec.key_step == 0:
            owned: dict[tuple[str, ...], list[int]] = {}
            for position, key in enumerate(keys):
                owned.setdefault(self._owners(key), []).append(position)
            if len(owned) > 1:
                parts = [_part(run, words, keys, its, step=spec.key_step) for its in owned.values()]
                return SplitCommand(run[0], parts, join)
        return SplitCommand(run[0], [WireFragment(run, words, keys, range(len(keys)))])

    def _transaction(self, run: WireCommands, packed: bytes) -> SplitCommand:
        """It is sent as one piece, so all of its keys have to be where its first one is."""
        keys = [key for words in _cut(packed, run.replies) for key in self._spec(words).keys(words)]
        if len(dict.fromkeys(map(self._owners, keys))) > 1:
            return _refused(run, TRANSACTION_APART)
        return SplitCommand(run[0], [WireFragment(run, (), keys, (), packed)])

    def _spec(self, words: Sequence[bytes]) -> CommandDescription:
        spec = self._table.find(words[0])
        assert spec is not None, words[0]
        if spec.treatment is Treatment.CONTAINER:
            return self._table.find_subcommand(spec, words) or spec
        return spec


class PassingRing(WireRing):
    """Ring for coordinators of other data centres: their commands go to all zones of this one and are not passed on."""

    def pass_transaction_on(self, run: WireCommands, packed: bytes) -> None:
        pass

    def _send(self, level: Setting, commands: Sequence[Command], done: Done, packed: bytes | None) -> None:
        self._carry_out(Level.DC_ONE, self._split_each(commands, packed), done, packed)

    def _send_together(
        self, level: Setting, members: Sequence[Member], commands: Sequence[Command], packed: bytes
    ) -> None:
        split = iter(self._split_each(commands, packed))
        for its_commands, done in members:
            self._carry_out(Level.DC_ONE, [next(split) for _ in its_commands], done)


@lru_cache(maxsize=64)
def _route_of(example: Argument) -> CommandRoute:
    return route((example,))


def _cut(packed: bytes, count: int) -> list[list[bytes]]:
    """The words of each command."""
    reader = hiredis.Reader()
    reader.feed(packed)
    return [reader.gets() for _ in range(count)]


def _depart(group: Coordinator, level: Setting, waiting: Sequence[_Departure]) -> None:
    if len(waiting) == 1:
        [(run, done, packed)] = waiting
        group.submit(level, run, done, packed=packed)
        return
    first = waiting[0][0]
    count = sum(len(run) for run, _, _ in waiting)
    whole = WireCommands([first[0]] * count, protocol=first.protocol)
    group.submit_together(level, [(run, done) for run, done, _ in waiting], whole, b"".join(one for *_, one in waiting))


def _run(fragments: Sequence[Fragment]) -> WireCommands:
    first = fragments[0]
    assert isinstance(first, WireFragment)
    if len(fragments) == len(first.run):
        return first.run
    return WireCommands([first.command] * len(fragments), protocol=first.run.protocol)


def _packed(fragments: Sequence[Fragment]) -> bytes:
    return b"".join(fragment.packed for fragment in fragments if isinstance(fragment, WireFragment))


def _refused(run: WireCommands, text: str) -> SplitCommand:
    fragment = WireFragment(run, (), (), ())
    fragment.replies[0] = ServerError(text)
    return SplitCommand(run[0], [fragment])


def _part(
    run: WireCommands, words: Sequence[bytes], keys: Sequence[bytes], positions: Sequence[int], *, step: int
) -> WireFragment:
    """The same command for the keys at ``positions`` only."""
    own = [words[0]]
    for position in positions:
        begin = 1 + position * step
        own += words[begin : begin + step]
    return WireFragment(run, own, [keys[position] for position in positions], positions)


def _summed(replies: Sequence[Reply], positions: Sequence[Sequence[int]]) -> Reply:
    return wire.integer(sum(int(reply[1:-2]) for reply in replies if isinstance(reply, bytes)))


def _first(replies: Sequence[Reply], positions: Sequence[Sequence[int]]) -> Reply:
    return replies[0]


_JOINED: dict[str, Callable[[Sequence[Reply], Sequence[Sequence[int]]], Reply]] = {
    "MGET": rearranged,
    "MSET": _first,
    "DEL": _summed,
    "EXISTS": _summed,
    "UNLINK": _summed,
    "TOUCH": _summed,
}
"""Commands that are taken apart by key, and how the replies to the parts are put together."""
