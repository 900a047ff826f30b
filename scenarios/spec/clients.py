"""Settings of clients: the zone whose coordinator they ask, and their reaction to errors."""

from typing import Annotated

from pydantic import Field

from zonelab.cluster.fields import Count, Flag, NonNegative, Section

CLIENT_RETRIES_MAX = 100


class Clients(Section):
    """Client policy, with the options of Netflix's Dyno client. By default a program asks the coordinator of its own
    zone, once.

    Source of the defaults: Dyno's ``ConnectionPoolConfigurationImpl``, ``ConnectionPoolImpl.executeWithFailover``,
    ``RetryNTimes`` and ``RunOnce``, and the original client under a dead coordinator (docs/client-policy.md).
    """

    failover: Flag = False
    """While the coordinator of the own zone is gone, commands go through other zones, one zone after the other."""
    retries: Annotated[int, Field(strict=True, ge=0, le=CLIENT_RETRIES_MAX)] = 0
    """Times that a failed command is sent again, blindly: with ``failover`` through other zones. A write that was
    applied although its answer got lost is then applied twice."""
    connections: Count = 3
    """Errors of a coordinator that is gone that pass until the program knows it, one a pooled connection."""
    back_after_ms: NonNegative = 8_000.0
    """Wait of a program that found a coordinator gone before it tries it again; times ``replication.time_factor``."""

    @property
    def as_usual(self) -> bool:
        """Return whether there is nothing to be done for a program but to ask its own zone, once."""
        return not self.failover and self.retries == 0
