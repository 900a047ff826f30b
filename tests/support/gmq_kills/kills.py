"""Round after round: the service works, is killed or stopped at a drawn command, and what the server holds is read."""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import redis.asyncio as redis
from support.gmq_kills.load import TOPIC, Load
from support.gmq_kills.log import ServerLog
from support.gmq_kills.proxy import Moment, Proxy
from support.gmq_kills.rows import REACHED_BY_A_KILL, STOPPED_AT, Pool, row_of

from zonelab.app.gmq_service.conf_ini import read_settings
from zonelab.app.gmq_service.process.program import run
from zonelab.cluster.real.zones import ProcessZone, ZoneSet

ROUND_S_MAX = 12
STOP_S = 2
HANGS_S = 60
DRAIN_PATIENCE_S = 60
"""Much longer than the longest lease, 1 + 3 s, and a scan, on a machine however busy."""

_STEPS = {
    "default": ("push", "make_ready", "add_to_bucket", "RPOP", "reserve", "lease", "ack", "due"),
    "compat": ("EXISTS", "HMSET", "make_ready", "add_to_bucket", "RPOP", "HSET", "lease", "HINCRBY", "DEL", "due"),
    "hardened": ("script",),
}
_NTH_MAX = {"default": 12, "compat": 12, "hardened": 150}
_RARE = {"due": 2}
"""Steps that come seldom: up to this many."""

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(["zonelab.app.gmq_service.process.program"])


@dataclass
class Found:
    """``rows``: how many lost jobs each has. ``unexplained``: lost jobs without a row, and the moment of the kill.

    ``missing``: confirmed, not lost by the server's state, and yet delivered to nobody in the end. ``hung``: stops that
    ended by their bound.
    """

    mode: str
    how: str = "kill"
    rounds: int = 0
    not_reached: int = 0
    hung: int = 0
    pushed: int = 0
    confirmed: int = 0
    rows: Counter = field(default_factory=Counter)
    kills: Counter = field(default_factory=Counter)
    unexplained: list = field(default_factory=list)
    missing: list = field(default_factory=list)

    @property
    def lost(self):
        return sum(count for row, count in self.rows.items() if row != "pop_reply_lost")

    @property
    def holds(self):
        """Every loss has a row. Hardened a kill has none but that of at most once; a stop has none but with compat."""
        if self.how == "stop":
            allowed = set(STOPPED_AT.values()) if self.mode == "compat" else set()
        else:
            allowed = {"pop_reply_lost_ttr_0"} if self.mode == "hardened" else set(REACHED_BY_A_KILL)
        hangs = self.hung and self.mode != "compat"
        return not self.unexplained and not self.missing and not hangs and set(+self.rows) <= allowed


def moment_of(mode, random):
    step = random.choice(_STEPS[mode])
    return Moment(step, random.random() < 0.5, random.randint(1, _RARE.get(step, _NTH_MAX[mode])))


async def kills(mode, rounds, *, seed, folder, how="kill", told=lambda line: None):
    """``rounds`` ends, and what became of every job. ``folder`` takes the files of the service."""
    random, load, found = Random(seed), Load(seed), Found(mode, how)
    zone = ProcessZone("kills")
    async with ZoneSet([zone]):
        log = ServerLog(zone.address.port)
        await log.start()
        server = redis.Redis(port=zone.address.port)
        for number in range(rounds):
            moment = moment_of(mode, random)
            reached = await _round(found, moment, zone.address.port, load, folder)
            found.rounds += 1
            found.not_reached += not reached
            found.kills[f"{'before' if moment.before else 'after'} {moment.step}"] += reached
            await server.delete("gmq:service")  # v1.0 alone waits for that of its predecessor
            if mode != "hardened":
                await log.caught_up(f"round {number}")
                await _look(server, load, log, found, moment)
            told(f"{number + 1} of {rounds}: {moment}; {dict(found.rows)}")
        await _end(mode, zone.address.port, server, load, found, folder)
        await server.aclose()
        await log.stop()
    return found


async def _round(found, moment, server_port, load, folder):
    """Whether the moment came."""
    processes = []
    number = signal.SIGTERM if found.how == "stop" else signal.SIGKILL
    proxy = Proxy(server_port, moment, lambda: os.kill(processes[0].pid, number), how=found.how)
    async with _service(found.mode, await proxy.start(), folder, processes) as port:
        working = asyncio.create_task(load.work(port, gone=proxy.ended)) if port else None
        try:
            async with asyncio.timeout(ROUND_S_MAX):
                await proxy.ended.wait()
        except TimeoutError:
            pass
        reached = proxy.ended.is_set()
        if not reached:
            os.kill(processes[0].pid, number)
            proxy.ended.set()
        if working is not None:
            await working
        await asyncio.to_thread(processes[0].join, HANGS_S)
        found.hung += found.how == "stop" and processes[0].exitcode != 0
    await proxy.stop()
    return reached


async def _look(server, load, log, found, moment):
    """Which jobs nothing will ever find again, and the row of each."""
    there = {key.removeprefix(b"gmq:jobpool:").decode() for key in await server.keys("gmq:jobpool:*")}
    listed = {raw.decode() for raw in await server.lrange(f"gmq:readyqueue:{TOPIC}", 0, -1)}
    for key in await server.keys("gmq:bucket:*"):
        listed |= {raw.decode() for raw in await server.zrange(key, 0, -1)}
    for job_id, fate in list(load.fates.items()):
        row = row_of(job_id, fate, Pool(job_id in there, job_id in listed), log)
        if row and found.how == "stop":
            row = STOPPED_AT.get(row, "")
        if row:
            found.rows[row] += 1
        elif row == "":
            found.unexplained.append((job_id, str(fate), log.last.get(job_id.encode()), str(moment)))
        if (row is not None and row != "pop_reply_lost") or job_id not in there:
            _close(load, found, job_id)


def _close(load, found, job_id):
    fate = load.fates.pop(job_id)
    found.pushed += 1
    found.confirmed += fate.confirmed


async def _end(mode, server_port, server, load, found, folder):
    """A service that nobody kills delivers what is left."""

    async def left():
        """What was confirmed and came to nobody, but for jobs of a TTR of 0 that a hardened pop has deleted."""
        unseen = [job_id for job_id, fate in load.fates.items() if fate.confirmed and not fate.received]
        done = {job_id for job_id in unseen if await server.zscore(f"gmq.DONE.{TOPIC}", job_id) is not None}
        at_most_once = {job_id for job_id in done if load.fates[job_id].ttr_s == 0}
        found.rows["pop_reply_lost_ttr_0"] += len(at_most_once)
        for job_id in at_most_once:
            _close(load, found, job_id)
        return [job_id for job_id in unseen if job_id not in at_most_once]

    async with _service(mode, server_port, folder, []) as port:
        await load.drain(port, left=left, patience_s=DRAIN_PATIENCE_S)
    found.missing += [(job_id, str(load.fates[job_id])) for job_id in await left()]
    for job_id in list(load.fates):
        _close(load, found, job_id)


@asynccontextmanager
async def _service(mode, server_port, folder, processes):
    """Its port, None if it was killed while it began. It is killed at the end; so is whatever it left behind."""
    ini = Path(folder) / "gmq.ini"
    ini.write_text(
        f"[redis]\nport={server_port}\nmax_idle=2\n[log]\ntarget_type=file\nfilename={folder}/gmq.log\n"
        f"[service]\nmode={mode}\nrpc=127.0.0.1:0\napi=off\nweb=off\npid_file={folder}/gmq.pid\npop_ms=300\n"
        f"stop_s={STOP_S}\n"
    )
    ours, theirs = _FORKED.Pipe()
    process = _FORKED.Process(target=_run, args=(str(ini), theirs), daemon=True)
    process.start()
    theirs.close()
    processes.append(process)
    try:
        yield await asyncio.to_thread(_port_told, ours)
    finally:
        process.kill()
        await asyncio.to_thread(process.join)
        ours.close()


def _port_told(connection):
    try:
        return int(connection.recv()["rpc"].rpartition(":")[2])
    except EOFError:
        return None


def _run(ini, connection):
    if not run(read_settings(Path(ini)), console=False, ready=connection.send):
        sys.exit(1)
