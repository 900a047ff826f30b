"""A client's own connections for WATCH, which must not overtake a zone's hints
(``zonelab.cluster.options.hinted_handoff``).

A transaction that arrived before older hints would be overwritten by them. So WATCH, and the EXEC that follows it, wait
until the hints for the zone have been answered; while the zone cannot be reached by the way that the hints take, it
refuses them. They are never hints themselves: what watched keys were then cannot be known later.
"""

from collections import deque
from collections.abc import Callable
from functools import partial

from zonelab.cluster.connections.batch import Answer, Batch, Channel
from zonelab.cluster.options.hinted_handoff import HintedChannel
from zonelab.cluster.resp.protocol.upstream import WireCommands


class BehindHints:
    """``channel``, which leads where ``hinted`` leads, and does not overtake that one's hints."""

    def __init__(self, channel: Channel, hinted: HintedChannel) -> None:
        self.channel = channel
        self._hinted = hinted
        self._under_way = 0  # WATCH and EXEC without an answer
        self._following: deque[tuple[Batch, Callable[[Answer], None]]] = deque()

    @property
    def connected(self) -> bool:
        return self.channel.connected

    def submit(self, batch: Batch, done: Callable[[Answer], None]) -> None:
        if isinstance(batch.commands, WireCommands) and not batch.commands.plain:
            self._under_way += 1
            self._hinted.submit_after(self.channel, batch, partial(self._answered, done))
        elif self._under_way:
            self._following.append((batch, done))  # an UNWATCH must not overtake the EXEC either
        else:
            self.channel.submit(batch, done)

    def reset(self) -> None:
        self.channel.reset()

    def _answered(self, done: Callable[[Answer], None], answer: Answer) -> None:
        self._under_way -= 1
        done(answer)
        while self._following and not self._under_way:
            self.channel.submit(*self._following.popleft())
