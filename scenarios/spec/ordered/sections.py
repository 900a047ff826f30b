"""Sections of a scenario that only ordered messages need: keys of the load, a sink, and the settings of the checker."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from zonelab.analysis.checkers.order.properties import FORBIDDEN, Property
from zonelab.cluster.fields import Count, Flag, Positive, Section


class OrderingKeys(Section):
    """Ordering keys: each message has one of them, drawn."""

    count: Count = 10
    """Keys that each producer works with at a time."""
    states: Annotated[tuple[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")], ...], Field(min_length=1)] | None = (
        None
    )
    """The messages of a key say these, in this order; then another key takes its place. None: keys go on for ever."""
    shared: Flag = False
    """The producers of all zones work with the same keys, so that no key has an order."""


class SinkKind(StrEnum):
    """Sink outside the zones to which consumers write.

    ``list``: every effect, in its order. ``register``: of each key the last one. ``counter``: how many. ``states``: of
    each key the state, which has to follow the one before.
    """

    LIST = "list"
    REGISTER = "register"
    COUNTER = "counter"
    STATES = "states"


class SinkSettings(Section):
    """Something outside the zones that every finished message has its effect on."""

    kind: SinkKind = SinkKind.LIST
    fenced: Flag | None = None
    """It refuses older tokens, and messages of a key that are not newer than the last; null: if the engine fences."""


class OrderChecks(Section):
    """Settings of the checker of ordered messages (docs/order-verdicts.md)."""

    forbid: tuple[Property, ...] = FORBIDDEN
    """Properties that must not be broken for the run to be valid."""
    wait_s: Positive | None = None
    """A message at the head that waits longer has a partition that stands still; null: two leases."""
