"""Votes that end in an error where Dynomite would fail its client: commands of several keys."""

from zonelab.cluster.commands.keys import keys_of
from zonelab.cluster.commands.routes import route, upper
from zonelab.cluster.connections.failures import STORAGE_REFUSED, ZoneFailure
from zonelab.cluster.options.strict.forms import BY_ELEMENT, ERROR_ELSEWHERE, FAILED_READ, MULTI_KEY, NO_MAJORITY, Form
from zonelab.cluster.votes.levels import Decision, Level, Setting
from zonelab.cluster.votes.rules import Rule, Rules
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import Command, Reply, ServerError

_UNDECIDED = {"DEL": NO_MAJORITY, "EXISTS": NO_MAJORITY, "MGET": BY_ELEMENT}


class StrictRules(Rules):
    """``Rules`` in which commands of ``MULTI_KEY`` have votes of their own."""

    def __init__(self, setting: Setting, *, zones: int) -> None:
        super().__init__(setting, zones=zones)
        self._by_name |= {name: _MultiKeyRule(self._by_route[route((name,))]) for name in sorted(MULTI_KEY)}


class _MultiKeyRule(Rule):
    __slots__ = ()

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule.level, zones=rule.zones, reads=rule.reads)

    def vote(self, command: Command) -> Vote:
        return _MultiKeyVote(self.level, zones=self.zones, command=command)


class _MultiKeyVote(Vote):
    __slots__ = ("_command",)

    def __init__(self, level: Level, *, zones: int, command: Command) -> None:
        super().__init__(level, zones=zones)
        self._command = command

    def _decide(self, decision: Decision, answer: Reply) -> bool:
        name = upper(self._command[0])
        form = _UNDECIDED.get(name) if decision in (Decision.FIRST_ARRIVED, Decision.NO_QUORUM) else None
        if decision in (Decision.ERRORS, Decision.LOCAL) and isinstance(answer, ServerError):
            form = self._failed(name, decision, answer) if len(keys_of(self._command)) > 1 else None
        if form is not None:
            answer = ZoneFailure(form.refusal(name), maybe_applied=True)
        return super()._decide(decision, answer)

    def _failed(self, name: str, decision: Decision, error: ServerError) -> Form | None:
        if name == "MGET":
            return FAILED_READ
        return ERROR_ELSEWHERE if decision is Decision.ERRORS and self._from_elsewhere(error) else None

    def _from_elsewhere(self, error: Reply) -> bool:
        """It came from another zone, and was not given by the own coordinator in place of an answer."""
        zone = self._error_zones[self._first(self._error_zones)]
        return zone != self._local and (not isinstance(error, ZoneFailure) or str(error) == STORAGE_REFUSED)
