"""The messages of one write and one read that follows it, drawn many times over.

A coordinator sends the write to every replica; each answers. Later a coordinator sends the read to every replica, and
each answers with what it holds when the question reaches it. These are the four delays of the paper: W, A, R, S.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zonelab.analysis.lags.distributions import Distribution, Floats

BLOCK = 1 << 16
"""Trials that are worked on at once: their delays stay in the processor's cache."""


@dataclass(frozen=True, kw_only=True)
class Legs:
    """Delays in ms: of a write on its way to a replica, of its ack, of a read, of its answer."""

    write: Distribution
    ack: Distribution
    read: Distribution
    answer: Distribution


@dataclass(frozen=True, kw_only=True)
class Model:
    """``own``: the legs between a coordinator and the replica of its own zone; ``other``: to those of other zones.

    ``about`` says in a sentence where the delays come from.
    """

    name: str
    about: str
    own: Legs
    other: Legs


class Trials:
    """``count`` trials of a write and a read. Arrays have a row for each replica, of which each zone has one.

    The zones whose coordinators write and read are drawn independently of each other.
    """

    def __init__(self, model: Model, *, replicas: int, count: int, rng: np.random.Generator) -> None:
        placing, legs, self._local, self._elsewhere = rng.spawn(4)
        shape = replicas, count
        own, other = model.own, model.other
        self._own, self._trial = own, np.arange(count)
        self._replicas = replicas
        self.writer = placing.integers(0, replicas, count)
        self.reader = placing.integers(0, replicas, count)
        self.write = self._leg(other.write, own.write, self.writer, shape, legs)
        self.ack = self._leg(other.ack, own.ack, self.writer, shape, legs)
        self.read = self._leg(other.read, own.read, self.reader, shape, legs)
        self.answer = self._leg(other.answer, own.answer, self.reader, shape, legs)

    def _leg(
        self,
        other: Distribution,
        own: Distribution,
        zone: NDArray[np.int64],
        shape: tuple[int, int],
        rng: np.random.Generator,
    ) -> Floats:
        drawn = other.draw(rng, shape)
        if own != other:
            drawn[zone, self._trial] = own.draw(rng, shape[1])
        return drawn

    @cached_property
    def acked_after(self) -> Floats:
        """From the beginning of the write, by replica: when its ack is back."""
        return self.write + self.ack

    @cached_property
    def acks(self) -> Floats:
        """The same in the order of time: row k is when k + 1 acks are back."""
        return np.sort(self.acked_after, axis=0)

    @cached_property
    def acked_by_own(self) -> Floats:
        """When the replica of the writer's zone has acked."""
        found: Floats = self.acked_after[self.writer, self._trial]
        return found

    @cached_property
    def answered_after(self) -> Floats:
        """From the beginning of the read, by replica: when its answer is back."""
        return self.read + self.answer

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.answered_after, axis=0)

    @cached_property
    def answers(self) -> Floats:
        """When k + 1 answers are back, in row k."""
        return np.take_along_axis(self.answered_after, self._order, axis=0)

    @cached_property
    def fresh_from(self) -> Floats:
        """By answer, in the order of ``answers``: it has the write if the read begins so long after the write began."""
        return np.take_along_axis(self.write - self.read, self._order, axis=0)

    @cached_property
    def any_fresh_from(self) -> Floats:
        """Row k: the same for the freshest of the first k + 1 answers."""
        return np.minimum.accumulate(self.fresh_from, axis=0)

    @cached_property
    def own_read(self) -> tuple[Floats, Floats]:
        """Return, for a read that asks only the replica of its own zone, when it gets there and when its answer is
        back.
        """
        asked = self._own.read.draw(self._local, self._trial.size)
        return asked, asked + self._own.answer.draw(self._local, self._trial.size)

    @cached_property
    def written_elsewhere(self) -> Floats:
        """When the write gets to the replica of another zone than the writer's, drawn from all others.

        Raises ``ValueError`` where there is one zone only.
        """
        if self._replicas < 2:
            raise ValueError(f"replicas must be at least 2 for another zone, got {self._replicas}")
        zone = (self.writer + self._elsewhere.integers(1, self._replicas, self._trial.size)) % self._replicas
        found: Floats = self.write[zone, self._trial]
        return found


def blocks(model: Model, *, replicas: int, trials: int, seed: int) -> Iterator[Trials]:
    """``trials`` trials, a block at a time; the seed decides all."""
    rng = np.random.default_rng(seed)
    for begin in range(0, trials, BLOCK):
        yield Trials(model, replicas=replicas, count=min(BLOCK, trials - begin), rng=rng)
