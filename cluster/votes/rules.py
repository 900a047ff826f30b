"""Rules for a command at a level: which zones get it, and whose replies decide."""

from collections.abc import Callable, Sequence

from zonelab.cluster.commands.routes import MAY_STORE, CommandRoute, route, upper
from zonelab.cluster.votes.levels import Decision, Level, Setting, read_level, write_level
from zonelab.cluster.votes.list_vote import ElementVote
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import Argument, Command

_NAMES_MAX = 1_000
"""Command names that are remembered. Clients choose names, so there is no end to them."""


class Rule:
    """``zones`` of them get the command, the own one first; ``needed`` equal replies without an error decide it.

    ``needed`` is 0 where the own zone's reply alone decides. ``reads``: the command changes nothing.
    """

    __slots__ = ("decision", "level", "needed", "reads", "zones")

    apart = False
    """Not all commands of this rule go to the zones as they are, or to the same ones."""

    def __init__(self, level: Level, *, zones: int, reads: bool) -> None:
        self.level = level
        self.zones = zones
        self.reads = reads
        self.needed = level.rule.needed(zones)
        self.decision = Decision.AGREED if self.needed else Decision.LOCAL
        """Decision of a vote whose replies are all equal."""

    def vote(self, command: Command) -> Vote:
        return Vote(self.level, zones=self.zones)

    def asked(self, command: Command) -> Command:
        """Return what the zones are asked when a client sends ``command``."""
        return command


class CustomVoteRule(Rule):
    """``rule`` with votes of another kind."""

    __slots__ = ("_make",)

    def __init__(self, rule: Rule, make: Callable[[Level, int], Vote], *, reads: bool) -> None:
        super().__init__(rule.level, zones=rule.zones, reads=reads)
        self._make = make

    def vote(self, command: Command) -> Vote:
        return self._make(self.level, self.zones)


class SortingRule(Rule):
    """``SMEMBERS`` is sent as ``SORT key ALPHA``, since servers list equal sets in orders of their own.

    So does Netflix Dynomite at 2046b05 (``req_recv_done`` in ``dyn_client.c``), at DC_SAFE_QUORUM and no other level.
    """

    __slots__ = ()

    apart = True

    def asked(self, command: Command) -> Command:
        return ("SORT", command[1], "ALPHA") if len(command) == 2 else command


class StoringRule(Rule):
    """Stands for a command whose arguments say whether it is a read or a write: ``Rules.of`` knows which."""

    __slots__ = ()

    apart = True


class Rules(dict[Argument, Rule]):
    """The rules of one setting, by command name. They are looked up for every command, so what was found is kept."""

    def __init__(self, setting: Setting, *, zones: int) -> None:
        super().__init__()
        reads = read_level(setting)
        self._by_route = {
            CommandRoute.WRITE: Rule(write_level(setting), zones=zones, reads=False),
            CommandRoute.READ: Rule(reads, zones=1 if reads.rule.is_local else zones, reads=True),
            CommandRoute.BROADCAST: Rule(Level.DC_ONE, zones=zones, reads=False),
            CommandRoute.LOCAL_READ: Rule(Level.DC_ONE, zones=1, reads=True),
        }
        self._by_name: dict[str, Rule] = {}
        if not reads.rule.is_local:
            whole = self._by_route[CommandRoute.READ]
            self._by_name["MGET"] = CustomVoteRule(whole, _by_element, reads=True)
        if reads.rule.sorted_sets:
            self._by_name["SMEMBERS"] = SortingRule(reads, zones=zones, reads=True)
        self._by_name |= {
            name: StoringRule(write_level(setting), zones=zones, reads=False) for name in sorted(MAY_STORE)
        }

    def __missing__(self, name: Argument) -> Rule:
        rule = self._by_name.get(upper(name)) or self._by_route[route((name,))]
        if len(self) < _NAMES_MAX:
            self[name] = rule
        return rule

    def of(self, command: Command) -> Rule:
        """The rule of ``command``, whose arguments may decide."""
        rule = self[command[0]]
        return self._by_route[route(command)] if type(rule) is StoringRule else rule

    def common(self, commands: Sequence[Command]) -> Rule | None:
        """One rule by which all of ``commands`` can be sent and voted on, unless it is ``apart``, if there is any.

        Where reads go to the same zones as writes, the rule of writes serves for a pipeline of both.
        """
        rule = self[commands[0][0]]
        for command in commands:
            other = self[command[0]]
            if other is not rule:
                if (type(other), other.level, other.zones) != (type(rule), rule.level, rule.zones):
                    return None
                if rule.reads:
                    rule = other
        return rule


def _by_element(level: Level, zones: int) -> Vote:
    return ElementVote(level, zones=zones)
