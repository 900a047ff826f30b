"""The places of replies in the order of one client's answers."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.votes.pipeline import GradualDone, Outcome
from zonelab.engine.ports import Reply


class OrderedClient(Protocol):
    """A client that answers in order."""

    def answered(self, slot: "ReplySlot") -> None:
        """``slot`` has its reply."""

    def answered_first(self, slot: "ReplySlot", count: int, reply: bytes) -> None:
        """The first ``count`` commands of ``slot`` have their reply."""

    def figures(self) -> Mapping[bytes, int]:
        """Figures on the clients of the port, by the names that INFO has for them."""

    def arrived(self, expected: int) -> None:
        """Replies for which so much memory was kept are there."""


class ReplySlot(GradualDone):
    """The place of a run's replies.

    ``sent_bytes``: of its commands. ``expected``: what is large of these and of the replies, for all clients together.
    """

    __slots__ = ("_client", "count", "expected", "reply", "sent_bytes")

    def __init__(self, client: OrderedClient, count: int) -> None:
        self._client = client
        self.count = count
        self.expected = self.sent_bytes = 0
        self.reply: bytes | None = None

    def __call__(self, outcome: Outcome) -> None:
        if self.expected:
            self._client.arrived(self.expected)
        if type(outcome) is list:
            self.reply = outcome[0] if self.count == 1 else b"".join(outcome)  # type: ignore[assignment, arg-type]
        else:
            self.reply = wire.joined(outcome)
        self._client.answered(self)

    def first(self, answers: Sequence[Reply]) -> None:
        self._client.answered_first(self, len(answers), b"".join(map(wire.answer, answers)))


class SetSlot(ReplySlot):
    """The place of a reply that is an array and stands for a set: clients of RESP3 expect one."""

    __slots__ = ()

    def __call__(self, outcome: Outcome) -> None:
        if outcome.__class__ is list:
            outcome = [reply.replace(b"*", b"~", 1) for reply in cast(list[bytes], outcome)]
        super().__call__(outcome)


class InfoSlot(ReplySlot):
    """Slot of a reply to INFO, whose lines about clients are replaced by the port's figures."""

    __slots__ = ()

    def __call__(self, outcome: Outcome) -> None:
        if outcome.__class__ is list:
            figures = self._client.figures()
            outcome = [_with_figures(reply, figures) for reply in cast(list[bytes], outcome)]
        super().__call__(outcome)


def _with_figures(reply: bytes, figures: Mapping[bytes, int]) -> bytes:
    """``reply``, a text in wire form, with ``figures`` in the lines that begin with their names."""
    _, _, text = reply[:-2].partition(b"\r\n")
    names = b"|".join(figures)
    text = re.sub(rb"(?m)^(%b):\d+" % names, lambda line: b"%b:%d" % (line[1], figures[line[1]]), text)
    return b"%b%d\r\n%b\r\n" % (reply[:1], len(text), text)
