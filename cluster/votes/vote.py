"""The vote on one command: which replies decide it, and what the client gets.

The rules are those of Netflix Dynomite at 2046b05 (``dyn_response_mgr.c``, ``dyn_client.c``): replies are compared
by value, not by version; an error counts as an answer but never towards a quorum; the first error is the one
returned; a reply that comes after the decision changes nothing. Dynomite compares CRC32 checksums of the reply
bytes, this module the parsed replies, so two different replies can never pass for equal.

A single zone at ``DC_SAFE_QUORUM`` answers normally here. In Dynomite every such command fails after it has been
executed (issues 573 and 652), because the second slot of its checksum array is compared although it is empty.
"""

from collections.abc import Callable, Sequence
from typing import assert_never

from zonelab.cluster.connections.failures import NO_QUORUM, UNKNOWN_SCRIPT, ZoneFailure
from zonelab.cluster.topology.topology import ZONES_MAX
from zonelab.cluster.votes.levels import Decision, Level
from zonelab.engine.ports import Reply, ServerError


class Vote:
    """The vote on one command over the replies of the zones that it was sent to.

    A quorum of equal good replies decides: ``needed`` of them, 0 where the own zone's reply alone decides. When so many
    good replies have come, but no quorum of equal ones can come together any more, the level's rule says how the vote
    ends: DC_QUORUM takes the first to arrive and the safe levels fail. With up to three zones that is Dynomite's rule;
    with four and more it is what its rule would be if its arrays were long enough.

    ``submit`` is called once per zone, in order of arrival. ``answer`` and ``decision`` are set when ``decided``.
    ``late_disagreement`` means that a good reply which came after the decision differs from the answer: Dynomite
    drops such replies unread, this lab counts them. ``failed_inside`` means that a server which began the command
    answered with an error of its own: that leaves no effect, unless the command is a script. ``first_of`` says which of
    some zones, in order of arrival, counts as the first to have arrived, if that is not simply the first of them.
    """

    __slots__ = (
        "_error_zones",
        "_errors",
        "_good",
        "_good_zones",
        "_local",
        "_maybe_applied",
        "_pending",
        "_rule",
        "answer",
        "decided",
        "decision",
        "failed_inside",
        "first_of",
        "late_disagreement",
        "needed",
        "zones",
    )

    answer: Reply
    decision: Decision

    def __init__(self, level: Level, *, zones: int, local: int = 0) -> None:
        assert 1 <= zones <= ZONES_MAX, zones
        assert 0 <= local < zones, local
        self.zones = zones
        self._rule = level.rule
        self.needed = self._rule.needed(zones)
        self._local = local
        self._pending = zones
        self._good: list[Reply] = []
        self._good_zones: list[int] = []
        self._errors: list[ServerError] = []
        self._error_zones: list[int] = []
        self.first_of: Callable[[Sequence[int]], int] | None = None
        self._maybe_applied = False
        self.decided = False
        self.late_disagreement = False
        self.failed_inside = False

    @property
    def complete(self) -> bool:
        """Every zone has answered."""
        return self._pending == 0

    @property
    def without_script(self) -> list[int]:
        """Zones that did not hold a script that others carried out."""
        if isinstance(self.answer, ServerError):
            return []
        pairs = zip(self._error_zones, self._errors, strict=True)
        return [zone for zone, error in pairs if str(error).startswith(UNKNOWN_SCRIPT)]

    @property
    def deviating(self) -> list[tuple[int, Reply]]:
        """Errors, and good replies that are not the answer or had no quorum, each with the zone that gave it."""
        found: list[tuple[int, Reply]] = list(zip(self._error_zones, self._errors, strict=True))
        if not isinstance(self.answer, ServerError) or self.decision is Decision.NO_QUORUM:
            pairs = zip(self._good_zones, self._good, strict=True)
            found += [(zone, reply) for zone, reply in pairs if reply != self.answer]
        return found

    @property
    def maybe_applied(self) -> bool:
        """Some zone executed the command, or may have, or may yet."""
        return self._maybe_applied or self._pending > 0 or bool(self._good)

    def submit(self, zone: int, reply: Reply) -> bool:
        """Count ``zone``'s reply. True if this reply decided the vote."""
        assert self._pending > 0, "a zone answered twice"
        self._pending -= 1
        if isinstance(reply, ServerError):
            self._errors.append(reply)
            self._error_zones.append(zone)
            if not isinstance(reply, ZoneFailure):
                self.failed_inside = self.failed_inside or not str(reply).startswith(UNKNOWN_SCRIPT)
            elif reply.maybe_applied:
                self._maybe_applied = True
        else:
            self._good.append(reply)
            self._good_zones.append(zone)
            if self.decided and reply != self.answer and not isinstance(self.answer, ServerError):
                self.late_disagreement = True
        if self.decided:
            return False
        if self.needed == 0:
            return self._decide_locally(zone, reply)
        return self._decide_by_quorum()

    def _decide_locally(self, zone: int, reply: Reply) -> bool:
        if zone != self._local:
            return False
        if not isinstance(reply, ServerError):
            self.late_disagreement = any(other != reply for other in self._good)
        return self._decide(Decision.LOCAL, reply)

    def _decide_by_quorum(self) -> bool:
        good = self._good
        count = len(good)
        if count < self.needed:
            if self._pending + count < self.needed:
                return self._decide(Decision.ERRORS, self._errors[self._first(self._error_zones)])
            return False
        equal = good.count(good[-1])
        if equal >= self.needed:
            return self._decide(Decision.AGREED if equal == count else Decision.MAJORITY, good[-1])
        if self._pending + max(map(good.count, good)) >= self.needed:
            return False
        match self._rule.on_disagreement:
            case Decision.FIRST_ARRIVED:
                return self._decide(Decision.FIRST_ARRIVED, good[self._first(self._good_zones)])
            case Decision.NO_QUORUM:
                return self._decide(Decision.NO_QUORUM, ZoneFailure(NO_QUORUM, maybe_applied=True))
            case Decision.LOCAL:
                raise AssertionError("the own zone's reply decides")
            case unknown:
                assert_never(unknown)

    def _first(self, zones: Sequence[int]) -> int:
        """The index of the zone that counts as the first to have arrived."""
        return 0 if self.first_of is None else zones.index(self.first_of(zones))

    def _decide(self, decision: Decision, answer: Reply) -> bool:
        self.decided = True
        self.decision = decision
        self.answer = answer
        return True
