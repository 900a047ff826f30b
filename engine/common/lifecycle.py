"""Starting and closing queue objects that work in the background: handlers, heartbeats, keepers."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Protocol, Self

from zonelab.engine.common.periodic import Periodic


class Closable(Protocol):
    async def close(self) -> None: ...


async def close_all(parts: Iterable[Closable]) -> None:
    """Close each of ``parts``. If one ended by a defect, that is raised after all are closed."""
    failures = []
    for part in parts:
        try:
            await part.close()
        except Exception as error:
            failures.append(error)
    if failures:
        raise failures[0]


class Startable(ABC):
    """Runs from ``start`` to ``close``, or as long as a block lasts: ``async with queue: …``."""

    @abstractmethod
    async def start(self) -> None:
        """Begin what works in the background."""

    @abstractmethod
    async def close(self) -> None:
        """Stop what works in the background. Leases and messages stay as they are."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class BackgroundQueue(Startable):
    """A queue object whose work in the background is one or more periodic actions."""

    @property
    @abstractmethod
    def _periodics(self) -> Sequence[Periodic]: ...

    async def start(self) -> None:
        """Begin the periodic work."""
        for periodic in self._periodics:
            periodic.start()

    async def close(self) -> None:
        """Stop the periodic work. Leases and messages stay as they are."""
        await close_all(self._periodics)
