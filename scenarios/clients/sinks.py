"""Sinks, on which consumers of ordered messages have their effects: outside the zones, touched by no fault."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from zonelab.scenarios.spec.ordered.sections import SinkKind

Ballot = tuple[int, int]
"""(generation, token) of a grant; of an engine without tokens (0, 0)."""

Place = tuple[int, int]
"""(epoch, offset) of a message: partitions that a resize opened number theirs anew."""


FENCED = "fenced"
"""Why a sink refused what somebody with an older token than the newest wanted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """Effect of one message. ``place``: its epoch and offset. ``state``: what it says of its key."""

    group: str
    partition: str
    place: Place
    ballot: Ballot
    key: str
    message_id: str
    state: str


@dataclass(frozen=True, slots=True)
class Answer:
    """``position``: how many effects the sink took before; None if it refused, for the reason ``refused``."""

    position: int | None
    refused: str | None = None


@dataclass(slots=True)
class Sink:
    """``fenced``: it refuses who has an older token than one that it knows of the partition, and what is not newer than
    the last message of its key. A naive one takes everything.

    ``states``: those that a key goes through; ``illegal`` counts the effects after which a key was not in its next one.
    """

    kind: SinkKind
    fenced: bool
    states: tuple[str, ...] = ()
    illegal: int = 0
    _taken: int = 0
    _kept: dict[tuple[str, str], list[tuple[int, Effect]]] = field(default_factory=dict)
    _newest: dict[tuple[str, str], Ballot] = field(default_factory=dict)
    _last: dict[tuple[str, str], Place] = field(default_factory=dict)

    def take(self, effect: Effect) -> Answer:
        place, whose = (effect.group, effect.partition), (effect.group, effect.key)
        if self.fenced:
            if effect.ballot < self._newest.get(place, effect.ballot):
                return Answer(None, FENCED)
            self._newest[place] = effect.ballot
            if effect.place <= self._last.get(whose, (-1, -1)):
                return Answer(None, "repeated")
        self._last[whose] = effect.place
        position, self._taken = self._taken, self._taken + 1
        kept = self._kept.setdefault(whose, [])
        if self.kind is SinkKind.STATES:
            self.illegal += effect.state != self._next_state(kept)
        if self.kind is not SinkKind.LIST:
            kept.clear()
        kept.append((position, effect))
        return Answer(position)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield its content as rows of ``zonelab.analysis.runs.order.FINAL_ORDER``; of a counter the last effect of
        each key.
        """
        for kept in self._kept.values():
            for position, effect in kept:
                generation, token = effect.ballot
                yield {
                    "place": "sink",
                    "group": effect.group,
                    "partition": effect.partition,
                    "offset": effect.place[1],
                    "generation": generation,
                    "token": token,
                    "key": effect.key,
                    "message_id": effect.message_id,
                    "position": position,
                }

    def _next_state(self, kept: list[tuple[int, Effect]]) -> str | None:
        if not self.states:
            return None
        if not kept:
            return self.states[0]
        before = kept[-1][1].state
        following = self.states.index(before) + 1 if before in self.states else len(self.states)
        return self.states[following] if following < len(self.states) else None
