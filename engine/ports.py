"""The only interface between the queue engines, the coordinator and the world.

Nothing under ``engine`` and nothing in ``cluster`` outside ``cluster/real`` and ``cluster/sim`` opens a
socket, reads a clock, starts a thread or draws a random number except through what is declared here. That is
what lets one body of code run on real servers (asyncio) and in deterministic simulation (SimPy).

Coroutines written against these ports await nothing but ports: an ``await`` that reaches asyncio or SimPy
directly would tie the code to one arm.
"""

from collections.abc import Callable, Coroutine, Generator
from random import Random
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Argument = str | bytes | int | float
Command = tuple[Argument, ...]
"""One Redis command, name first: ``("ZADD", key, "NX", score, member)``."""


class ServerError(Exception):
    """An error reply (``-ERR …``) of the server: a value within replies. Ports never raise it; queues may."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ServerError) and self.args == other.args

    __hash__ = Exception.__hash__


Reply = int | bytes | list[Any] | ServerError | None


class PortError(Exception):
    """A command got no answer of its own. The subclass says what may have happened to its effect."""


class Unavailable(PortError):
    """The command was certainly not applied anywhere. A failed read always raises this, as it has no effect."""


class Indeterminate(PortError):
    """The command may have been applied (time-out, no quorum, …). Replicas that executed it keep its effect."""


class Connection(Protocol):
    """A client's pipelined connection to the cluster at one consistency level."""

    async def execute(self, *commands: Command) -> list[Reply]:
        """Send ``commands`` as one pipeline and return their replies in order.

        Raises ``Unavailable`` if no command of the pipeline was applied, ``Indeterminate`` if any may have been.
        """


class Clock(Protocol):
    """Wall clock as one node sees it. Faults may skew it; due times and leases come from nowhere else."""

    def now_ms(self) -> int: ...


class Timer(Protocol):
    def cancel(self) -> None: ...


class Promise(Protocol[T]):
    """A result that arrives later, once: set by one, awaited by any number, before or after."""

    def set_result(self, result: T, /) -> None: ...
    def done(self) -> bool: ...
    def __await__(self) -> Generator[Any, Any, T]: ...


class Task(Protocol[T_co]):
    """A spawned coroutine. ``join`` returns its result or raises what it raised."""

    def cancel(self) -> None: ...
    def done(self) -> bool: ...
    async def join(self) -> T_co: ...


class Runtime(Protocol):
    """Time, concurrency and randomness of one run."""

    def now_ns(self) -> int:
        """Nanoseconds since the run began; never goes back."""

    async def sleep(self, duration_ns: int) -> None: ...
    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> Timer: ...
    def spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> Task[T]: ...
    def promise(self) -> Promise[Any]: ...
    def random(self, user: str) -> Random:
        """The random stream of ``user``; equal seed and name give equal draws whatever else is drawn."""
