"""The order in which the service stops: by default as clients would wish, with ``compat`` as gmq v1.0 does."""

import asyncio
import logging
from contextlib import AsyncExitStack

from zonelab.app.gmq_service.backend.jobs import Jobs
from zonelab.app.gmq_service.backend.waiting import Pops
from zonelab.app.gmq_service.rpc.protocol import RpcPort

LOG = logging.getLogger("gmq.service")

STEPS = 3
"""JSON-RPC, HTTP and the dispatcher: each may take ``stop_s``."""


async def stop_serving(
    *, port: RpcPort, http: AsyncExitStack, pops: Pops, jobs: Jobs, stop_s: float, compat: bool
) -> bool:
    """No client is served any more; what is in hand is finished; then timers, buckets and the dispatcher end.

    With ``compat`` the dispatcher ends first, and no push or pop under way is waited for: its job may stay in the pool
    alone, or in nobody's hands (N2). False if something is still in hand after ``stop_s``.
    """
    pops.stop()
    ended = await _dispatcher_ends(jobs, stop_s) if compat else True
    left = await port.finish(within_s=0 if compat else stop_s)
    await http.aclose()
    if left:
        LOG.error("%d requests were not answered%s", left, "" if compat else f" within {stop_s} s")
    if compat:
        return ended
    return await _dispatcher_ends(jobs, stop_s) and left == 0


async def _dispatcher_ends(jobs: Jobs, stop_s: float) -> bool:
    try:
        async with asyncio.timeout(stop_s):
            await jobs.stop()
    except TimeoutError:
        LOG.error("the dispatcher did not end within %s s: jobs in hand may be in the pool only", stop_s)
        return False
    return True
