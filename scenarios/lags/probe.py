"""Round trips to servers, measured over one TCP connection each.

A command is sent at fixed times, whatever became of those before it: one that only began when the last was answered
would look away just while it is slow.
"""

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

import hiredis

from zonelab.cluster.zone import Address
from zonelab.scenarios.lags.questions import Command

ANSWER_S = 5.0
"""A server that answers nothing for so long, though it was asked, does not answer."""


@dataclass
class Probe:
    """Round trips measured to one address: times in ms, in the order in which they were sent, and when in s."""

    address: Address
    round_trips_ms: list[float] = field(default_factory=list)
    sent_s: list[float] = field(default_factory=list)
    unanswered: int = 0
    problem: str | None = None
    """Why it ended early."""


class _ProbeConnection(asyncio.Protocol):
    def __init__(self, probe: Probe, command: Command) -> None:
        self._probe = probe
        self._packed = command.packed
        self._reader = hiredis.Reader()
        self._waiting: deque[int] = deque()
        self._begin_ns = 0
        self._ended = False
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # of uvloop, which has classes of its own

    def connection_lost(self, error: Exception | None) -> None:
        if not self._ended:
            self._probe.problem = self._probe.problem or "closed the connection"

    def send(self) -> None:
        assert self._transport is not None
        now_ns = time.perf_counter_ns()
        self._begin_ns = self._begin_ns or now_ns
        if self._waiting and now_ns - self._waiting[0] > ANSWER_S * 1e9:
            self._probe.problem = f"does not answer: nothing for {ANSWER_S:g} s"
            return
        self._waiting.append(now_ns)
        self._transport.write(self._packed)

    def data_received(self, data: bytes) -> None:
        now_ns = time.perf_counter_ns()
        self._reader.feed(data)
        while self._waiting:
            reply = self._reader.gets()
            if reply is False:
                return
            sent_ns = self._waiting.popleft()
            if isinstance(reply, hiredis.ReplyError):
                self._probe.problem = f"answers {str(reply)!r}"
                return
            self._probe.round_trips_ms.append((now_ns - sent_ns) / 1e6)
            self._probe.sent_s.append((sent_ns - self._begin_ns) / 1e9)

    @property
    def waiting(self) -> bool:
        return bool(self._waiting)

    def end(self) -> None:
        self._ended = True
        self._probe.unanswered = len(self._waiting)
        if self._transport is not None:
            self._transport.abort()


async def measure(
    addresses: Sequence[Address], command: Command, *, for_s: float, every_s: float, stop: asyncio.Event
) -> list[Probe]:
    """Measure all addresses at once, until ``for_s`` are over, ``stop`` is set, or none answers any more.

    An address that cannot be reached has a ``problem`` and no round trips; then nothing is measured at all.
    """
    probes = [Probe(address) for address in addresses]
    connections = [await _connected(probe, command) for probe in probes]
    loop = asyncio.get_running_loop()
    begin_s, sent = loop.time(), 0
    try:
        while None not in connections and loop.time() - begin_s < for_s and not stop.is_set():
            for probe, connection in zip(probes, connections, strict=True):
                if probe.problem is None and connection is not None:
                    connection.send()
            if all(probe.problem for probe in probes):
                break
            sent += 1
            await _until(begin_s + sent * every_s, stop)
        await _answered(probes, connections, stop)
    finally:
        for connection in connections:
            if connection is not None:
                connection.end()
    return probes


async def _connected(probe: Probe, command: Command) -> _ProbeConnection | None:
    loop, connection = asyncio.get_running_loop(), _ProbeConnection(probe, command)
    try:
        opening = loop.create_connection(lambda: connection, probe.address.host, probe.address.port)
        await asyncio.wait_for(opening, ANSWER_S)
    except TimeoutError:
        probe.problem = f"does not answer: no connection within {ANSWER_S:g} s"
    except OSError as error:
        probe.problem = f"does not answer: {error.strerror or error}"
    return None if probe.problem else connection


async def _until(at_s: float, stop: asyncio.Event) -> None:
    left_s = at_s - asyncio.get_running_loop().time()
    if left_s <= 0:
        await asyncio.sleep(0)
        return
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), left_s)


async def _answered(
    probes: Sequence[Probe], connections: Sequence[_ProbeConnection | None], stop: asyncio.Event
) -> None:
    """Wait for what is on its way, so that the slowest are not left out."""
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + ANSWER_S
    while loop.time() < deadline_s and not stop.is_set():
        waiting = (
            connection is not None and connection.waiting and probe.problem is None
            for probe, connection in zip(probes, connections, strict=True)
        )
        if not any(waiting):
            return
        await _until(min(deadline_s, loop.time() + 0.005), stop)
