"""Settings of versions: whether votes go by them, and how zones are compared in the background."""

from typing import Annotated

from pydantic import Field

from zonelab.cluster.fields import Count, Millis, Positive, Section


class AntiEntropySettings(Section):
    """A coordinator compares its zone with every other one at each interval."""

    interval_ms: Millis = 1_000
    entries: Count = 1_000
    """Records that a round looks at, for each other zone."""
    copy_bytes: Annotated[int, Field(strict=True, ge=1)] = 1 << 20
    """Bytes of values that it copies at once."""
    retention_s: Positive = 864_000.0
    """Time for which removals are remembered: ten days. A zone that is away for longer may bring it back."""

    @property
    def interval_ns(self) -> int:
        return self.interval_ms * 1_000_000

    @property
    def retention_ns(self) -> int:
        return round(self.retention_s * 1e9)
