"""Goal: no legal history is called broken, and one wrong row gives exactly its verdict. Method: drawn histories."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.analysis.orders import LEASE_MS, RULES, Ordered, Owner

from zonelab.analysis.runs.order import OrderKind

RETRIES = 2
STEPS = ("produce", "work", "work", "crash", "stall", "fail", "renew", "hand over")


@dataclass
class Lab:
    """One partition and its owners, who keep all rules; the cursor is where the last one left it."""

    topic: Ordered = field(default_factory=lambda: Ordered(RULES.model_copy(update={"replay_max": 1})))
    owner: Owner | None = None
    lives: int = 0
    failed: int = 0
    sunk: set[int] = field(default_factory=set)

    @property
    def head(self) -> int:
        return self.topic.cursors.get(("g", "t/0"), 0)

    def step(self, what: str) -> None:
        if what == "produce":
            self.topic.produce("ab"[len(self.topic.rows) % 2])
        elif self.owner is None:
            self.lives += 1
            self.topic.now += 2 * LEASE_MS
            self.owner = self.topic.grant(f"m-{self.lives}")
        elif what == "renew":
            until = (self.topic.now + LEASE_MS) * 1_000_000
            self.owner.decided(OrderKind.RENEW, until_ns=until)
        elif what == "hand over":
            self.owner.decided(OrderKind.RELEASE, status="drained")
            self.owner = None
        elif self.head < len(self.topic.logs.get("t/0", ())):
            getattr(self, f"_{what}")(self.owner)

    def _begin(self, owner: Owner) -> dict[str, Any]:
        return owner.start(self.head, self.failed + 1)

    def _effect(self, owner: Owner, start: dict[str, Any]) -> None:
        owner.sink(start, "fail" if start["offset"] in self.sunk else "ok")
        self.sunk.add(start["offset"])
        owner.end(start)

    def _work(self, owner: Owner) -> None:
        start = self._begin(owner)
        self._effect(owner, start)
        owner.commit(start["offset"] + 1)
        self.failed = 0

    def _crash(self, owner: Owner) -> None:
        self._begin(owner)
        self.topic.member(owner.session, "crashed")
        self.owner = None

    def _stall(self, owner: Owner) -> None:
        """Its effect was in time; its commit comes when somebody else owns the partition."""
        self._effect(owner, self._begin(owner))
        self.owner = None
        self.step("own")
        owner.commit(self.head + 1, outcome="fail", status="fenced")

    def _fail(self, owner: Owner) -> None:
        start = self._begin(owner)
        owner.end(start, "suspend")
        if self.failed == RETRIES:
            owner.put_aside(OrderKind.DEAD_LETTER, start["offset"])
            self.failed = 0
        else:
            self.failed += 1
            owner.fail(start["offset"], self.failed)
            self.topic.now += 20


@st.composite
def labs(draw: st.DrawFn, *, least: int = 0) -> Lab:
    lab = Lab()
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=least, max_size=30)):
        lab.step(step)
    return lab


@settings(max_examples=30, deadline=None)
@given(labs())
def test_a_legal_history_breaks_nothing(lab: Lab) -> None:
    verdict = lab.topic.verdict()
    assert (verdict.valid, verdict.shown) == (True, ()), verdict.cases


Wrong = tuple[str, Callable[[], None]]
"""The property that must be broken, and what breaks it."""


def of(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["kind"] == kind and row.get("outcome", "ok") == "ok"]


def corruptions(topic: Ordered) -> Iterator[Wrong]:
    """Every change of one row that breaks one property alone."""
    commits, grants, sinks = (of(topic.rows, kind) for kind in ("commit", "grant", "sink"))
    for start in of(topic.rows, "start"):
        yield "I11", lambda start=start: start.update(attempt=start["attempt"] + 50)
    for produced in of(topic.rows, "produce"):
        yield "I2", lambda produced=produced: produced.update(message_id="another")
    for sink in sinks:
        yield "I14", lambda sink=sink: sink.update(outcome="fail")
    for before, commit in pairwise(commits):
        yield "I9", lambda before=before, commit=commit: commit.update(cursor=before["cursor"] - 1)
    for commit in commits:
        if commit["token"] > grants[0]["token"]:
            yield "I8", lambda commit=commit: commit.update(token=commit["token"] - 1)
    for grant, later in pairwise(grants):
        released = [row for row in of(topic.rows, "release") if row["token"] == grant["token"]]
        if not released:
            yield "I10", lambda grant=grant, later=later: grant.update(until_ns=later["time_ns"] + 1)
    ends = of(topic.rows, "end")
    if ends and ends[-1]["status"] == "success" and ends[-1]["offset"] not in [one["offset"] for one in ends[:-1]]:
        followed = any(row["offset"] > ends[-1]["offset"] for row in of(topic.rows, "start"))
        if not followed and topic.cursors["g", "t/0"] > ends[-1]["offset"]:
            yield "I3", lambda: ends[-1].update(status="rollback")


@settings(max_examples=30, deadline=None)
@given(labs(least=8), st.data())
def test_one_wrong_row_gives_exactly_its_verdict(lab: Lab, data: st.DataObject) -> None:
    possible = list(corruptions(lab.topic))
    assume(possible)
    name, corrupt = data.draw(st.sampled_from(possible))
    held = lab.topic.at_rest()
    corrupt()
    lab.topic.held = held
    verdict = lab.topic.verdict()
    assert verdict.shown == (name,), verdict.cases
