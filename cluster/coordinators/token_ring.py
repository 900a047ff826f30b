"""The coordinator of one node where zones have several nodes, or where there are several data centres.

Keys have a token, and a token has an owner in every zone of a data centre. There is one ``PlainCoordinator`` for every
combination of owners: that one sends and votes, this module finds out which one it is.

* A command goes to the owners of its first key. ``MGET``, ``MSET``, ``DEL``, ``EXISTS``, ``UNLINK`` and ``TOUCH`` are
  taken apart by owners, each part under the rules of the level, and their replies joined; that is not atomic.
* Writes go on to every other data centre: to one zone of it, which is chosen beforehand and passes them to all of its
  zones, and nobody waits for them (``dyn_client.c`` of Netflix Dynomite at 2046b05: ``req_forward_remote_dc``,
  ``preselect_remote_rack_for_replication``).
* Where the level's rule names one for other data centres, as that of DC_EACH_SAFE_QUORUM does, reads and writes go to
  all zones of all data centres, each of which must agree by itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from zonelab.cluster.commands.keys import joiner, keys_of, must_share_a_node, part
from zonelab.cluster.commands.routes import READING, CommandRoute, route
from zonelab.cluster.connections.batch import Answer, Batch, Channel
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.coordinators.split_commands import Fragment, SplitCommand, SplitPipeline
from zonelab.cluster.topology.topology import DataCentre, Topology
from zonelab.cluster.votes.levels import Level, Setting, level_of, write_level
from zonelab.cluster.votes.pipeline import Done
from zonelab.cluster.votes.shared_batch import Member
from zonelab.cluster.votes.statistics import CoordinatorStatistics
from zonelab.engine.ports import Command, Runtime, ServerError

KEYS_APART = "ERR Dynomite: Keys in the script cannot span multiple nodes"


@dataclass
class RingStatistics(CoordinatorStatistics):
    """Counts of writes for other data centres by fate, in batches; fragments count as commands of their own."""

    remote_sent: int = 0
    remote_failed_over: int = 0  # sent to another zone than the one chosen beforehand
    remote_dropped: int = 0  # no zone of that data centre could be reached
    remote_failed: int = 0  # given up on: time-out, or the connection broke


class MakeCoordinator(Protocol):
    """Maker of the coordinator of a group of owners, such as ``PlainCoordinator``."""

    def __call__(
        self, *, zone: str, channels: Mapping[str, Channel], runtime: Runtime, statistics: CoordinatorStatistics
    ) -> Coordinator: ...


class RingCoordinator(Coordinator):
    """``channels`` lead to every node of every data centre, ``forwards`` to every coordinator of the other ones."""

    statistics: RingStatistics

    def __init__(
        self,
        *,
        node: str,
        topology: Topology,
        channels: Mapping[str, Channel],
        forwards: Mapping[str, Channel],
        runtime: Runtime,
        make: MakeCoordinator = PlainCoordinator,
        statistics: RingStatistics | None = None,
    ) -> None:
        self._topology = topology
        self._make = make
        self._dc = topology.positions[node].dc
        self._rack = topology.positions[node].rack
        super().__init__(zone=node, channels=channels, runtime=runtime, statistics=statistics or RingStatistics())
        self.channel_of = channels
        self.forwards = forwards
        self._groups: dict[tuple[str, ...], Coordinator] = {}
        self.elsewhere = CoordinatorStatistics()  # of votes in other data centres
        self._others = [dc for dc in topology.dcs if dc is not self._dc]
        self._alone = PlainCoordinator(
            zone=node, channels={node: channels[node]}, runtime=runtime, statistics=self.statistics
        )

    def wrap_channels(self, wrap: Callable[[str, Channel], Channel]) -> None:
        self.channel_of = {name: wrap(name, channel) for name, channel in self.channel_of.items()}
        self.channels = [self.channel_of[name] for name in self.zones]
        self._alone.wrap_channels(lambda name, _: self.channel_of[name])
        self._groups.clear()

    def crash(self) -> None:
        super().crash()
        for channel in self.forwards.values():
            channel.reset()

    def forwarded(self, batch: Batch, done: Done) -> None:
        """Writes from another data centre: they go to all zones of this one, and no further."""
        self._in_order(self._pass_on, batch, done)

    def _pass_on(self, batch: Batch, done: Done) -> None:
        self._carry_out(Level.DC_ONE, [self._split(command) for command in batch.commands], done)

    def _send(self, level: Setting, commands: Sequence[Command], done: Done, packed: bytes | None) -> None:
        split_commands = [self._split(command) for command in commands]
        self._forward(level, split_commands)
        self._carry_out(level, split_commands, done, packed)

    def _send_together(
        self, level: Setting, members: Sequence[Member], commands: Sequence[Command], packed: bytes
    ) -> None:
        for its_commands, done in members:
            self._send(level, its_commands, done, None)

    def _carry_out(
        self, level: Setting, split_commands: Sequence[SplitCommand], done: Done, packed: bytes | None = None
    ) -> None:
        parts: dict[tuple[int, int, Coordinator, Setting], list[Fragment]] = {}
        section = 0  # what is for every node is neither overtaken nor overtakes
        for each in split_commands:
            for fragment in each.fragments:
                apart = self._is_for_everybody(fragment)
                section += apart
                for asked in () if fragment.replies else self._asked(level, fragment):
                    parts.setdefault((section, *asked), []).append(fragment)
                section += apart
        split = SplitPipeline(split_commands, parts=list(parts.values()), done=done)
        if not parts:
            split.conclude()
        if len(parts) == 1 and all(each.join is None for each in split_commands):
            ((_, _, group, _), fragments) = next(iter(parts.items()))
            if len(fragments) == len(split_commands):
                self._ask(group, level, fragments, done, packed)
                return
        for (_, dc, group, its_level), fragments in parts.items():
            self._ask(group, its_level, fragments, split.part(dc, fragments))

    def _ask(
        self,
        group: Coordinator,
        level: Setting,
        fragments: Sequence[Fragment],
        done: Done,
        packed: bytes | None = None,
    ) -> None:
        """``packed`` is all of ``fragments`` in wire form, if anybody has it."""
        if self._is_for_everybody(fragments[0]):
            self._tell_everybody(fragments)
        self._hand(group, level, fragments, done, packed)

    def _hand(
        self, group: Coordinator, level: Setting, fragments: Sequence[Fragment], done: Done, packed: bytes | None
    ) -> None:
        group.submit(level, [fragment.command for fragment in fragments], done, packed=packed)

    def _split(self, command: Command) -> SplitCommand:
        keys = keys_of(command)
        if must_share_a_node(command) and len(dict.fromkeys(map(self._owners, keys))) > 1:
            refused = Fragment(command, ())
            refused.replies[0] = ServerError(KEYS_APART)
            return SplitCommand(command, [refused])
        join = joiner(command)
        if join is None or len(keys) < 2:
            return SplitCommand(command, [Fragment(command, range(len(keys)))])
        owned: dict[tuple[str, ...], list[int]] = {}
        for position, key in enumerate(keys):
            owned.setdefault(self._owners(key), []).append(position)
        if len(owned) == 1:
            return SplitCommand(command, [Fragment(command, range(len(keys)))])
        return SplitCommand(command, [Fragment(part(command, its), its) for its in owned.values()], join)

    def _owners(self, key: bytes) -> tuple[str, ...]:
        """The owner of ``key`` in every zone of every data centre."""
        token = self._token(key)
        return tuple(owner for dc in self._topology.dcs for owner in dc.owners(token))

    def _token(self, key: bytes) -> int:
        return 0 if self._topology.whole else self._topology.token(key)

    def _asked(self, level: Setting, fragment: Fragment) -> Iterator[tuple[int, Coordinator, Setting]]:
        """Yield whose answer is awaited and at which level, by data centre: 0 is the own one."""
        keys = self._keys(fragment)
        if not keys:
            yield 0, self._alone, level
            return
        token = self._token(keys[0])
        yield 0, self._group(self._dc, token), level
        elsewhere = level_of(level, self._route(fragment)).rule.other_dcs
        if elsewhere is not None:
            for number, dc in enumerate(self._others, start=1):
                yield number, self._group(dc, token), elsewhere

    def _keys(self, fragment: Fragment) -> Sequence[bytes]:
        return keys_of(fragment.command)

    def _route(self, fragment: Fragment) -> CommandRoute:
        return route(fragment.command)

    def _is_for_everybody(self, fragment: Fragment) -> bool:
        """Commands without a key that are no reads go to every node of every data centre; the own one answers."""
        return not self._keys(fragment) and self._route(fragment) not in READING

    def _tell_everybody(self, fragments: Sequence[Fragment]) -> None:
        batch = self._batch(fragments)
        for name in self.zones[1:]:
            self.channel_of[name].submit(batch, _ignore)

    def _batch(self, fragments: Sequence[Fragment]) -> Batch:
        """Writes that are sent without a vote."""
        return Batch([fragment.command for fragment in fragments], writes=True)

    def _group(self, dc: DataCentre, token: int) -> Coordinator:
        owners = dc.owners(token)
        group = self._groups.get(owners)
        if group is None:
            own = dc is self._dc
            self._groups[owners] = group = self._make(
                zone=owners[self._rack if own else self._preselected(dc)],
                channels={name: self.channel_of[name] for name in owners},
                runtime=self._runtime,
                statistics=self.statistics if own else self.elsewhere,
            )
        return group

    def _preselected(self, dc: DataCentre) -> int:
        """The position of the zone of ``dc`` that this node sends writes to: by the order of the zones' names."""
        own_names = sorted(rack.name for rack in self._dc.racks)
        names = sorted(rack.name for rack in dc.racks)
        chosen = names[own_names.index(self._dc.racks[self._rack].name) % len(names)]
        return [rack.name for rack in dc.racks].index(chosen)

    def _forward(self, level: Setting, split_commands: Sequence[SplitCommand]) -> None:
        if not self._others or write_level(level).rule.other_dcs is not None:
            return
        keyed = [
            (self._token(keys[0]), fragment)
            for each in split_commands
            for fragment in each.fragments
            if not fragment.replies and self._route(fragment) is CommandRoute.WRITE and (keys := self._keys(fragment))
        ]
        for dc in self._others if keyed else ():
            self._forward_to(dc, keyed)

    def _forward_to(self, dc: DataCentre, keyed: Sequence[tuple[int, Fragment]]) -> None:
        by_owners: dict[tuple[str, ...], list[Fragment]] = {}
        for token, fragment in keyed:
            by_owners.setdefault(dc.owners(token), []).append(fragment)
        first = self._preselected(dc)
        for owners, fragments in by_owners.items():
            ordered = [*owners[first:], *owners[:first]]
            reached = next((index for index, name in enumerate(ordered) if self.forwards[name].connected), None)
            if reached is None:
                self.statistics.remote_dropped += 1
                continue
            self.statistics.remote_sent += 1
            self.statistics.remote_failed_over += reached > 0
            self.forwards[ordered[reached]].submit(self._batch(fragments), self._remote_answered)

    def _remote_answered(self, answer: Answer) -> None:
        if isinstance(answer, ZoneFailure):
            self.statistics.remote_failed += 1


def _ignore(answer: Answer) -> None:
    pass
