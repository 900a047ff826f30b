"""Goal: faults look to clients on real servers as they were measured on Dynomite. Method: its failure matrix and its
outages, replayed on three server processes with every time-out scaled by one factor.

Times are held against bounds: never before the time-out, and not so late that it could be the next one.
"""

import asyncio

import pytest
from support.cluster.failure_matrix import CUTS, MATRIX, STEPS, STEPS_LATER, WORDS
from support.cluster.real import on_servers, outcome, settled, until

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC
from zonelab.cluster.zone import Restart

pytestmark = pytest.mark.real

ONE, QUORUM, SAFE = LEVELS_OF_ONE_DC
FACTOR = 0.3
SCALED = Timeouts(factor=FACTOR)
LATE_MS = 900
"""Time behind its due one from which on an answer may be that of the next time-out."""

WAIT_MS = 10
"""Length of the waits by which lateness is counted: a machine that stands still makes one longer, not more of them."""

PAUSE_MS = 1_500 * FACTOR

# Of each fault one level that waits or fails, and one that does not; black holes and freezing take longest.
ROWS = [
    ("kill b", ONE),
    ("kill b", SAFE),
    ("kill a", ONE),
    ("kill a", QUORUM),
    ("kill bc", ONE),
    ("kill bc", QUORUM),
    ("kill ab", ONE),
    ("kill ab", SAFE),
    ("kill abc", QUORUM),
    ("pause b", QUORUM),
    ("pause a", ONE),
    ("pause a", SAFE),
    ("pause bc", ONE),
    ("pause bc", QUORUM),
    ("pause ab", QUORUM),
    ("lose b", QUORUM),
    ("lose bc", ONE),
    ("lose bc", SAFE),
    ("freeze b", QUORUM),
    ("freeze bc", QUORUM),
    ("hold bc", QUORUM),
]


def row(fault, level):
    for (name, levels), (replies, replicas) in MATRIX.items():
        if name == fault and level in (levels if isinstance(levels, tuple) else (levels,)):
            return replies.split(), [None if one == "nil" else one.encode() for one in replicas.split()]
    raise LookupError((fault, level))


ACCEPTS = ("pause", "freeze")
"""Faults in which a connection that a time-out closed comes about again, and nobody answers on it."""


def channels(cluster):
    return [channel for coordinator in cluster.coordinators.values() for channel in coordinator.channels]


def around(cluster, zone):
    return [link for pair, link in cluster.links.items() if zone in pair]


async def break_down(cluster, fault, zone):
    if fault == "kill":
        await cluster.zones[zone].kill()
    elif fault == "pause":
        await cluster.zones[zone].pause()
    else:
        for link in around(cluster, zone):
            link.cut(CUTS[fault])


def lost_channels(cluster, fault, names):
    """The channels that such a fault breaks at once; a stall is noticed by its time-out only."""
    for own, coordinator in cluster.coordinators.items():
        for place, channel in enumerate(coordinator.channels):
            other = coordinator.zones[place]
            killed = fault == "kill" and other in names
            cut = fault == "lose" and own != other and (own in names or other in names)
            if killed or cut:
                yield channel


async def heal(cluster, fault, names):
    for name in names:
        if fault == "kill":
            await cluster.zones[name].restart(Restart.KEEP)
        elif fault == "pause":
            await cluster.zones[name].resume()
    for link in cluster.links.values():
        link.mend()


async def assert_replied(cluster, zone, level, command, word):
    text, due_ms = WORDS[word]
    begin_ns = cluster.runtime.now_ns()
    answering = asyncio.ensure_future(outcome(cluster.connection(zone, level), command))
    for _ in range(round((due_ms * FACTOR + LATE_MS) / WAIT_MS)):
        if (await asyncio.wait({answering}, timeout=WAIT_MS / 1000))[0]:
            break
    assert answering.done(), f"{word} is late"
    answer = answering.result()
    assert (answer[1] if isinstance(answer, tuple) else answer[0]) == text
    assert due_ms * FACTOR <= (cluster.runtime.now_ns() - begin_ns) / 1e6


@pytest.mark.parametrize(("faults", "level"), ROWS, ids=lambda value: str(value))
def test_a_fault_looks_to_clients_of_real_servers_as_measured(faults, level):
    replies, replicas = row(faults, level)
    fault, names = faults.split()

    @on_servers(timeouts=SCALED)
    async def replayed(cluster):
        first = cluster.connection("a", QUORUM)
        await first.execute(("SET", "read", "v0"), ("SET", "written", "old"))
        await settled(cluster, ("GET", "written"), [b"old"] * 3)
        for name in names:
            await break_down(cluster, fault, name)
        lost = list(lost_channels(cluster, fault, names))
        await until(lambda: not any(channel.connected for channel in lost), "the news of the fault")
        words = iter(replies)
        for zone, command in STEPS:
            await assert_replied(cluster, zone, level, command, next(words))
        await asyncio.sleep(PAUSE_MS / 1000)
        if fault in ACCEPTS:
            await until(lambda: all(one.connected for one in channels(cluster)), "connections that kernels accept")
        for (zone, command), word in zip(STEPS_LATER, words, strict=False):
            await assert_replied(cluster, zone, level, command, word)
        await heal(cluster, fault, names)
        await settled(cluster, ("GET", "written"), replicas)

    replayed()


async def write_through_an_outage(cluster, level, fault, outage_s):
    """One write every 0.25 s of scaled time through a while b is away: the answers, and which of them b lacks."""
    loop, period_s = asyncio.get_running_loop(), 0.25 * FACTOR
    await break_down(cluster, fault, "b")
    await until(lambda: not any(one.connected for one in lost_channels(cluster, fault, "b")), "the news of the fault")
    begin_s, calls = loop.time(), []
    for number in range(round(outage_s / 0.25)):
        await asyncio.sleep(max(0, begin_s + number * period_s - loop.time()))
        client = cluster.connection("a", level)
        calls.append(asyncio.ensure_future(outcome(client, ("SET", f"key{number}", "v"))))
    answers = await asyncio.gather(*calls)
    await heal(cluster, fault, "b")
    await cluster.network.connected()
    await cluster.connection("a", QUORUM).execute(("SET", "last", "v"))
    await settled(cluster, ("GET", "last"), [b"v"] * 3)
    replies = await cluster.direct("b").execute(*(("GET", f"key{number}") for number in range(len(calls))))
    return answers, [number for number, reply in enumerate(replies) if reply is None]


@pytest.mark.parametrize("level", [ONE, QUORUM])
@pytest.mark.parametrize(
    ("fault", "outage_s", "fewest", "most"),
    [
        ("kill", 35, 140, 140),  # measured 140 of 140
        ("pause", 20, 1, 79),  # measured 12 of 80; how many depends on the machine, test_outages.py counts them
        ("hold", 20, 0, 0),  # measured 0 of 80, all late
    ],
)
def test_an_outage_of_one_zone_costs_real_servers_the_writes_that_it_cost_dynomite(
    level, fault, outage_s, fewest, most
):
    @on_servers(timeouts=SCALED)
    async def outage(cluster):
        answers, missing = await write_through_an_outage(cluster, level, fault, outage_s)
        assert answers == [[b"OK"]] * (outage_s * 4)
        assert fewest <= len(missing) <= most

    outage()
