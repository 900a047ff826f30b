"""Rules of stores: how long a write and a read wait, and from when on reads see the write."""

from dataclasses import dataclass
from enum import StrEnum
from math import comb
from typing import Protocol

import numpy as np

from zonelab.analysis.lags.distributions import Floats
from zonelab.analysis.pbs.messages import Trials

DYNOMITE_REPLICAS_MAX = 3


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """In ms, a value a trial. ``late_ms``: a read that begins so long after the end of the write, or later, sees it."""

    write_ms: Floats
    read_ms: Floats
    late_ms: Floats


class ReplicaRule(Protocol):
    @property
    def name(self) -> str: ...

    def outcome(self, messages: Trials) -> TrialOutcome: ...


@dataclass(frozen=True)
class Quorum:
    """The rule of Dynamo: a write waits for ``w`` acks, a read takes the newest of the first ``r`` answers."""

    r: int
    w: int

    @property
    def name(self) -> str:
        return f"R={self.r} W={self.w}"

    def outcome(self, messages: Trials) -> TrialOutcome:
        written = messages.acks[self.w - 1]
        return TrialOutcome(written, messages.answers[self.r - 1], messages.any_fresh_from[self.r - 1] - written)


@dataclass(frozen=True)
class LocalRead:
    """Dynomite's DC_ONE: writes and reads wait for the replica of their own zone, however slow it is.

    ``elsewhere``: the read is made in another zone than the write. In the same zone it asks the replica that has acked.
    """

    elsewhere: bool

    @property
    def name(self) -> str:
        return f"DC_ONE, {'other' if self.elsewhere else 'same'} zone"

    def outcome(self, messages: Trials) -> TrialOutcome:
        written, (asked, answered) = messages.acked_by_own, messages.own_read
        late = messages.written_elsewhere - asked - written if self.elsewhere else np.zeros_like(written)
        return TrialOutcome(written, answered, late)


@dataclass(frozen=True)
class ValueVote:
    """Dynomite's DC_QUORUM on at most three replicas: a majority acks, and a read needs two equal answers.

    If the first two answers differ, the read waits for the third; so does DC_SAFE_QUORUM. Where the write ended well, a
    majority has it, and no read after it sees the old value. ``read_ms`` is that of a read at the very end of the
    write, when most replicas still differ.
    """

    replicas: int

    @property
    def name(self) -> str:
        return "DC_QUORUM"

    def outcome(self, messages: Trials) -> TrialOutcome:
        majority = self.replicas // 2 + 1
        written = messages.acks[majority - 1]
        fresh = messages.fresh_from <= written
        differ = fresh[:majority].any(axis=0) & ~fresh[:majority].all(axis=0)
        read = np.where(differ, messages.answers[-1], messages.answers[majority - 1])
        return TrialOutcome(written, read, np.sort(messages.fresh_from, axis=0)[majority - 1] - written)


@dataclass(frozen=True)
class PrimaryFirst:
    """Elasticsearch 1.x and 2.x: the primary writes, then all active replicas at once, and all of them must answer.

    A read by id asks one copy, any of them. All copies are active here. ``consistency`` decides nothing of this: see
    ``zonelab.analysis.pbs.elasticsearch``.
    """

    @property
    def name(self) -> str:
        return "Elasticsearch"

    def outcome(self, messages: Trials) -> TrialOutcome:
        others = messages.acked_after.copy()
        others[messages.writer, np.arange(others.shape[1])] = 0
        written = messages.acked_by_own + others.max(axis=0)
        return TrialOutcome(written, messages.answered_after[0], np.zeros_like(written))


class Consistency(StrEnum):
    """The write ``consistency`` of Elasticsearch 1.x and 2.x: the copies that must be active before a write begins.

    It counts the active copies of a shard, and refuses the write after a wait (1 minute if not set) if they are too
    few. It is no promise about where the write is when it ends: copies that fail meanwhile
    are taken out, and the write succeeds. Sources: elastic/elasticsearch, issue 444 (one, quorum, all; with one
    replica a quorum is the primary alone), and pull request 19454, which took it out of 5.0 for this reason.
    """

    ONE = "one"
    QUORUM = "quorum"
    ALL = "all"


def active_needed(consistency: Consistency, *, copies: int) -> int:
    """Return how many of ``copies``, primary and replicas, must be active for a write to begin."""
    if consistency is Consistency.ALL:
        return copies
    return copies // 2 + 1 if consistency is Consistency.QUORUM and copies > 2 else 1


def within_versions(k: int, *, replicas: int, r: int, w: int) -> float:
    """Return the probability that a read returns one of the last ``k`` versions, each written to ``w`` of the replicas.

    Section 3.1 of Bailis et al., VLDB 2012: replicas that a write did not wait for never get it.
    """
    return 1 - (comb(replicas - w, r) / comb(replicas, r)) ** k
