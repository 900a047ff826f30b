"""Interface between the protocols and a queue of jobs, whatever its mode."""

from collections.abc import Callable, Sequence
from typing import Protocol

from zonelab.engine.gmq.jobs import Job
from zonelab.engine.gmq.served_jobs import AckOutcome
from zonelab.engine.ports import ServerError


class Refused(ServerError):
    """The service does not take what it was given. The message is for the client."""


class Jobs(Protocol):
    """Jobs of the service. Operations raise ``zonelab.engine.common.failures.COMMAND_FAILURES`` and ``BrokenJob``."""

    async def start(self) -> None: ...

    async def push(self, job: Job) -> bool:
        """False if there is a job of this id. Raises ``Refused``."""

    async def replace(self, job: Job) -> None:
        """``push``, where a job of this id makes way. Raises ``Refused``."""

    async def pop(self, topics: Sequence[str], wanted: Callable[[], bool]) -> Job | None:
        """A job that is ready, now. None if there is none, or it is not ``wanted`` any more when it has been taken."""

    async def ack(self, job_id: str) -> AckOutcome: ...

    async def remove(self, job_id: str) -> bool:
        """Delete a job in whatever state."""

    async def get(self, job_id: str) -> Job | None:
        """The job as it was pushed, ``delay_s`` as the second when it is due if it waits for that, else 0."""

    async def stop(self) -> None:
        """Stop; jobs in hand are finished or put back."""
