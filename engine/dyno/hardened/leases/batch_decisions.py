"""Deciding about several leases in one command, and one by one where two zones do not agree about all of them."""

from collections.abc import Awaitable, Callable, Sequence

from engine.dyno.errors import COMMAND_FAILURES
from engine.dyno.hardened.records.steps import Held, in_steps
from engine.ports import PortError, ServerError, Unavailable

Decide = Callable[[Sequence[Held]], Awaitable[list[bool]]]


async def decided_each(decide: Decide, held: Sequence[Held]) -> list[bool | PortError | ServerError]:
    """For each lease the answer, or the error for want of one.

    A vote compares whole answers, so one lease about which the zones differ spoils the answer about all. What is
    decided here can be said again without harm.
    """
    return [answer for part in in_steps(held) for answer in await _decided(decide, part)]


async def _decided(decide: Decide, held: Sequence[Held]) -> list[bool | PortError | ServerError]:
    try:
        return list(await decide(held))
    except COMMAND_FAILURES as error:
        if len(held) == 1 or isinstance(error, Unavailable):
            return [error] * len(held)
        failure = error
    answers = [(await _decided(decide, [one]))[0] for one in held]
    # The first attempt may have been applied, so that none of them was certainly not.
    return [failure if isinstance(answer, Unavailable) else answer for answer in answers]
