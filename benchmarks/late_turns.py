"""Turns of the hardened queue on real zones, message by message, of which those that end late are recorded.

A turn is one of queue_throughput.py. If no message is acknowledged for ``--late-s`` seconds the turn is late: what each
zone has of the unfinished messages is read at that moment, and at the end of the turn a JSON file holds it with every
exchange that named one of these messages, and with what the servers logged. Other turns leave nothing.

    .venv/bin/python benchmarks/late_turns.py [--turns 500] [--folder late-turns]
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop
from environment import environment
from queue_throughput import CATALOGUE, ZONES, Exchange, Load, Sent, instances, throughput

from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.zones import zones
from zonelab.cluster.real.zones.process.process import ProcessZone
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno.hardened import HardenedQueue
from zonelab.engine.dyno.hardened.records.keys import HardenedKeys
from zonelab.engine.message import Delivery
from zonelab.scenarios.queues.dyno import NAME, PREFIX

READ_EVERY_S = 0.2


@dataclass
class Turn:
    """Course of one turn: every exchange, the ids that were acknowledged, and the zones' view once it is late."""

    name: str
    messages: int
    exchanges: list[Exchange] = field(default_factory=list)
    acknowledged: dict[str, float] = field(default_factory=dict)
    late: dict[str, Any] | None = None

    async def ack(self, queue: HardenedQueue, deliveries: Sequence[Delivery]) -> int:
        done = 0
        for delivery in deliveries:
            if await queue.ack(delivery):
                self.acknowledged[delivery.message.id] = perf_counter()
                done += 1
        return done

    @property
    def unfinished(self) -> list[str]:
        return [
            one for one in (f"{self.name}.{number}" for number in range(self.messages)) if one not in self.acknowledged
        ]


async def watch(turn: Turn, cluster: RealCluster, late_s: float) -> None:
    """Read what the zones have of unfinished messages as soon as nothing was acknowledged for ``late_s``."""
    seen, since_s = -1, perf_counter()
    while True:
        await asyncio.sleep(READ_EVERY_S)
        if len(turn.acknowledged) != seen:
            seen, since_s = len(turn.acknowledged), perf_counter()
        elif perf_counter() - since_s >= late_s:
            ids = turn.unfinished
            turn.late = {"at_s": perf_counter(), "ids": ids, "zones": await views(cluster, ids)}
            return


async def views(cluster: RealCluster, ids: Sequence[str]) -> dict[str, Any]:
    """The record of each of ``ids`` and the sets that list it, in every zone."""
    keys = HardenedKeys(prefix=PREFIX, queue=NAME)
    found: dict[str, Any] = {}
    for zone in ZONES:
        direct = cluster.direct(zone)
        sets = [key(shard) for key in (keys.queue_of, keys.ready, keys.unack) for shard in ZONES]
        (records,) = await direct.execute(("HMGET", keys.records, *ids))
        listed = await direct.execute(*(("ZSCORE", key, one) for one in ids for key in sets))
        lists = iter(listed)
        assert isinstance(records, list)
        found[zone] = {
            one: {"record": record, "listed": {key: score for key in sets if (score := next(lists)) is not None}}
            for one, record in zip(ids, records, strict=True)
        }
    return found


def naming(exchanges: Sequence[Exchange], ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Those of ``exchanges`` in which one of ``ids`` is named; scripts without their text."""
    wanted = {form for one in ids for form in (one, one.encode())}
    for exchange in exchanges:
        words = [word for command in exchange.commands for word in command]
        replies = exchange.replies if not isinstance(exchange.replies, BaseException) else []
        words += [word for reply in replies for word in (reply if isinstance(reply, list) else [reply])]
        if not wanted.isdisjoint(word for word in words if isinstance(word, str | bytes)):
            yield {
                "over": exchange.over,
                "sent_s": exchange.sent_s,
                "answered_s": exchange.answered_s,
                "commands": [[str(word)[:120] for word in command] for command in exchange.commands],
                "replies": repr(exchange.replies),
            }


async def one_turn(number: int, cluster: RealCluster, load: Load, setting: str, late_s: float) -> tuple[Turn, float]:
    total = load.messages // (load.producers * len(ZONES)) * load.producers * len(ZONES)
    turn = Turn(f"turn{number}", total)
    engine = replace(CATALOGUE["dyno hardened"], ack=turn.ack)
    async with instances(cluster, engine, setting, Sent(hear=turn.exchanges.append)) as queues:
        watching = asyncio.ensure_future(watch(turn, cluster, late_s))
        try:
            _, seconds = await throughput(queues, engine, load, turn.name)
        finally:
            watching.cancel()
    return turn, seconds


def written(turn: Turn, seconds: float, folder: Path, logs: dict[str, str]) -> Path:
    assert turn.late is not None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{turn.name}.json"
    ended = {one: turn.acknowledged.get(one) for one in turn.late["ids"]}
    exchanges = list(naming(turn.exchanges, turn.late["ids"]))
    facts = {"seconds": seconds, **turn.late, "acknowledged_s": ended, "exchanges": exchanges, "server_logs": logs}
    path.write_text(json.dumps({**environment(), **facts}, indent=1, default=repr))
    return path


async def record(options: argparse.Namespace) -> dict[str, Any]:
    """``--turns`` turns on zones that live through all of them."""
    load = Load(options.messages, options.producers, options.consumers, 1, options.pop_batch)
    servers = zones("process", ZONES)
    counts: Counter[str] = Counter()
    async with RealCluster(servers, RealSettings(seed=1)) as cluster:
        for number in range(options.turns):
            turn, seconds = await one_turn(number, cluster, load, options.setting, options.late_s)
            counts["turns"] += 1
            counts["messages"] += turn.messages
            if turn.late is not None:
                counts["late"] += 1
                processes = [zone for zone in servers if isinstance(zone, ProcessZone)]
                logs = {zone.name: zone.log_file.read_text(errors="replace") for zone in processes}
                print(written(turn, seconds, options.folder, logs), flush=True)
    return dict(counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--setting", choices=[level.value for level in Level], default=Level.DC_SAFE_QUORUM.value)
    parser.add_argument("--messages", type=int, default=6_000)
    parser.add_argument("--producers", type=int, default=10)
    parser.add_argument("--consumers", type=int, default=10)
    parser.add_argument("--pop-batch", type=int, default=20)
    parser.add_argument("--late-s", type=float, default=3.0)
    parser.add_argument("--folder", type=Path, default=Path("late-turns"))
    options = parser.parse_args()
    counts = uvloop.run(record(options))
    print(json.dumps({"benchmark": "late_turns", **vars(options), **environment(), **counts}, indent=1, default=str))


if __name__ == "__main__":
    main()
