"""Events that an engine reports, from which checkers judge whether messages were served in order.

The names of events and columns are those of the order history (``zonelab.analysis.runs.order``); the observer adds when
and where.
"""

from typing import Any, Protocol


class Observer(Protocol):
    """Observer of questions to the zones, which begin and end, and of single events."""

    def begin(self, kind: str, /, **columns: Any) -> int:
        """A question begins: produce, grant, renew, release, commit or dead_letter; the number to end it with.

        ``above``, of a commit: the offsets above the cursor that are finished.
        """

    def end(self, call: int, /, *, outcome: str, **columns: Any) -> None:
        """Record the end of ``call``. ``outcome``: ok (took effect), fail (certainly not), info (perhaps)."""

    def start(self, **columns: Any) -> int:
        """A message is handed to the listener; the number of this delivery. Those of a batch have one ``time_ns``."""

    def note(self, kind: str, /, **columns: Any) -> None:
        """A moment: member, assign, or the end of a delivery."""


class NullObserver:
    """Nobody listens."""

    def begin(self, _kind: str, /, **_columns: Any) -> int:
        return 0

    def end(self, _call: int, /, *, outcome: str, **_columns: Any) -> None:
        return None

    def start(self, **_columns: Any) -> int:
        return 0

    def note(self, _kind: str, /, **_columns: Any) -> None:
        return None
