"""Votes on replies that are lists of independent elements: ``MGET``.

Netflix Dynomite votes on such replies as a whole first. Where no quorum of them is equal it votes on every element by
itself, so the answer may mix elements of different zones and be one that no zone gave
(``redis_reconcile_multikey_responses`` in ``proto/dyn_redis.c`` at 2046b05). An element without a quorum is the first
reply's at DC_QUORUM; at the safe levels the whole command fails.
"""

from collections.abc import Sequence

from zonelab.cluster.commands.list_replies import parts_of, reply_of
from zonelab.cluster.connections.failures import NO_QUORUM, ZoneFailure
from zonelab.cluster.votes.levels import Decision
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import Reply


class ElementVote(Vote):
    """A vote that goes on over single elements where whole replies have no majority, once every zone has answered."""

    __slots__ = ()

    def _decide(self, decision: Decision, answer: Reply) -> bool:
        if decision not in (Decision.FIRST_ARRIVED, Decision.NO_QUORUM):
            return super()._decide(decision, answer)
        if not self.complete:
            return False
        rows = [parts_of(reply) for reply in self._good]
        rows.insert(0, rows.pop(self._first(self._good_zones)))
        if len(dict.fromkeys(map(len, rows))) != 1:
            return super()._decide(decision, answer)
        chosen = [self._element(column, decision) for column in zip(*rows, strict=True)]
        if None in chosen:
            return super()._decide(Decision.NO_QUORUM, ZoneFailure(NO_QUORUM, maybe_applied=True))
        return super()._decide(Decision.BY_ELEMENT, reply_of([row[0] for row in chosen if row], like=self._good[0]))

    def _element(self, column: Sequence[Reply], decision: Decision) -> tuple[Reply] | None:
        """Return the element that the client gets, as the only item; None if there is none.

        ``decision``: how the vote on whole replies ends.
        """
        most = max(column, key=column.count)
        if column.count(most) >= self.needed:
            return (most,)
        return (column[0],) if decision is Decision.FIRST_ARRIVED else None
