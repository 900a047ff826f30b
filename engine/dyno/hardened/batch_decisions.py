"""Deciding about several leases in one command, and one by one where two zones do not agree about all of them."""

from collections.abc import Awaitable, Callable, Sequence

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.dyno.hardened.records.steps import HardenedLease, in_steps
from zonelab.engine.ports import PortError, ServerError, Unavailable

Decide = Callable[[Sequence[HardenedLease]], Awaitable[list[bool]]]


async def decided_each(decide: Decide, leases: Sequence[HardenedLease]) -> list[bool | PortError | ServerError]:
    """For each lease the answer, or the error for want of one.

    A vote compares whole answers, so one lease about which the zones differ spoils the answer about all. What is
    decided here can be said again without harm.
    """
    return [answer for part in in_steps(leases) for answer in await _decided(decide, part)]


async def _decided(decide: Decide, leases: Sequence[HardenedLease]) -> list[bool | PortError | ServerError]:
    try:
        return list(await decide(leases))
    except COMMAND_FAILURES as error:
        if len(leases) == 1 or isinstance(error, Unavailable):
            return [error] * len(leases)
        failure = error
    answers = [(await _decided(decide, [one]))[0] for one in leases]
    # The first attempt may have been applied, so that none of them was certainly not.
    return [failure if isinstance(answer, Unavailable) else answer for answer in answers]
