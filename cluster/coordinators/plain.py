"""The coordinator of one zone whose servers hold all the data, or of the nodes that own the same keys.

As in Dynomite, a write goes to every zone of the data centre whatever the level; a read goes to the own zone only at
DC_ONE and to every zone at the quorum levels. The level decides how many replies are awaited and what happens when
they differ.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from zonelab.cluster.connections.batch import Batch, Channel
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.topology.topology import ZONES_MAX
from zonelab.cluster.votes.levels import Setting
from zonelab.cluster.votes.pipeline import Done, MixedPipeline, UniformPipeline
from zonelab.cluster.votes.rules import Rule, Rules
from zonelab.cluster.votes.shared_batch import Member, SharedBatch
from zonelab.cluster.votes.statistics import CoordinatorStatistics, Tally
from zonelab.engine.ports import Command, Runtime


class PlainCoordinator(Coordinator):
    """``channels`` lead to every zone of the data centre, one server each, the own zone among them.

    ``rules``: how commands are voted on.
    """

    def __init__(
        self,
        *,
        zone: str,
        channels: Mapping[str, Channel],
        runtime: Runtime,
        statistics: CoordinatorStatistics | None = None,
        rules: type[Rules] = Rules,
    ) -> None:
        if zone not in channels:
            raise ValueError(f"coordinator of zone {zone!r} has no channel to its own zone, only to {list(channels)}")
        if len(channels) > ZONES_MAX:
            raise ValueError(f"a data centre has 1 to {ZONES_MAX} zones, got {list(channels)}")
        super().__init__(
            zone=zone, channels=channels, runtime=runtime, statistics=statistics or CoordinatorStatistics()
        )
        self._rules = rules
        self._levels = _SettingRules(self._prepare)
        self._uniform: Callable[..., UniformPipeline] = UniformPipeline
        self._mixed: Callable[..., MixedPipeline] = MixedPipeline

    def _prepare(self, level: Setting) -> tuple[Rules, Tally]:
        rules = self._rules(level, zones=len(self.zones))
        return rules, self.statistics.tally(level, zones=self.zones, now_ns=self._runtime.now_ns)

    def _send(self, level: Setting, commands: Sequence[Command], done: Done, packed: bytes | None) -> None:
        rules, tally = self._levels[level]
        rule = rules.common(commands)
        if rule is None or rule.apart:
            self._send_mixed(list(map(rules.of, commands)), commands, tally, done, packed)
            return
        batch = self._uniform(commands, rule, tally, done, packed)
        answered = batch.answered
        channels = self.channels
        for position in range(rule.zones):
            channels[position].submit(batch, partial(answered, position))

    def _send_together(
        self, level: Setting, members: Sequence[Member], commands: Sequence[Command], packed: bytes
    ) -> None:
        rules, tally = self._levels[level]
        rule = rules[commands[0][0]]
        shared = SharedBatch(members, commands, rule, tally, packed)
        for position in range(rule.zones):
            self.channels[position].submit(shared, partial(shared.answered, position))

    def _send_mixed(
        self,
        rules: Sequence[Rule],
        commands: Sequence[Command],
        tally: Tally,
        done: Done,
        packed: bytes | None,
        *,
        asked: Sequence[Command] | None = None,
    ) -> None:
        """Send each zone its part of a pipeline with different rules, in the order of the commands.

        ``asked`` is what the zones are asked, where that is not what the client has asked.
        """
        writes = not all(rule.reads for rule in rules)
        asked = commands if asked is None else asked
        sent = [rule.asked(command) for rule, command in zip(rules, asked, strict=True)]
        if any(command is not other for command, other in zip(sent, asked, strict=True)):
            asked, packed = sent, None
        whole = Batch(asked, writes=writes, packed=packed)
        everywhere = [command for command, rule in zip(asked, rules, strict=True) if rule.zones > 1]
        part = whole if len(everywhere) == len(asked) else Batch(everywhere, writes=writes)
        answered = self._mixed(commands, rules, tally, done).answered
        self.channels[0].submit(whole, partial(answered, 0))
        if everywhere:
            for position in range(1, len(self.channels)):
                self.channels[position].submit(part, partial(answered, position))


class _SettingRules(dict[Setting, tuple[Rules, Tally]]):
    """By setting, made when it is first asked for."""

    def __init__(self, prepare: Callable[[Setting], tuple[Rules, Tally]]) -> None:
        super().__init__()
        self._prepare = prepare

    def __missing__(self, setting: Setting) -> tuple[Rules, Tally]:
        self[setting] = prepared = self._prepare(setting)
        return prepared
