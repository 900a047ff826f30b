"""The content of one zone's fenced partition at rest, as rows of ``zonelab.analysis.runs.order.FINAL_ORDER``."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from zonelab.engine.common.pipelines import read
from zonelab.engine.fifo.fenced.cursor import CursorState
from zonelab.engine.fifo.fenced.keys import LOG_REGISTER, FencedKeys, group_register
from zonelab.engine.fifo.fenced.log import LogState
from zonelab.engine.fifo.fenced.views import RegisterView, generation_of
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Command, Connection

PLACES = {"dead_letter": "dead", "park": "parked"}


async def final_rows(
    zone_alone: Connection, keys: FencedKeys, partition: Partition, groups: Sequence[str], *, zone: str
) -> list[dict[str, Any]]:
    """Return the rows of one zone. Records without offset yet are in the place ``inbox``.

    Raises what the port raises.
    """
    commands: list[Command] = [
        ("HGET", keys.meta(partition), "era"),
        ("HGETALL", keys.log(partition)),
        ("HMGET", keys.registers(partition), *map(group_register, groups)),
        ("HGETALL", keys.aside(partition)),
        *_inboxes(keys, partition),
    ]
    era, log, registers, aside, *inboxes = await read(zone_alone, commands)
    generation = generation_of((era or b"").decode())
    common = {"zone": zone, "partition": partition.name}
    rows: list[dict[str, Any]] = []
    for at, stored in sorted((int(name), value.decode()) for name, value in _pairs(log)):
        under, _, text = stored.partition(" ")
        record = PartitionRecord.parse(text)
        rows.append({**common, "place": "log", "offset": at, "token": int(under), **_of(record)})
    waits = (PartitionRecord.parse(text.decode()) for texts in inboxes for text in texts)
    rows += [{**common, "place": "inbox", "offset": -1, **_of(record)} for record in waits]
    for group, register in zip(groups, registers, strict=True):
        view = RegisterView.parse(register)
        if view.state:
            cursor = CursorState.parse(view.state).progress.cursor
            columns = {"group": group, "offset": cursor, "generation": generation, "token": view.token}
            rows.append({**common, "place": "cursor", **columns})
    for name, value in sorted(_pairs(aside)):
        group, _, offset = name.decode().rpartition(" ")
        if group not in groups:
            continue
        why, token, _, message_id, key, producer, sequence = json.loads(value)
        columns = {"message_id": message_id, "key": key, "producer": producer, "sequence": sequence, "token": token}
        rows.append({**common, "place": PLACES[why], "group": group, "offset": int(offset), **columns})
    return rows


async def unplaced(zone_alone: Connection, keys: FencedKeys, partition: Partition) -> list[PartitionRecord]:
    """Return the records that ``zone_alone`` has in the inbox but not in its log. Raises what the port raises."""
    commands: list[Command] = [("HGET", keys.registers(partition), LOG_REGISTER), *_inboxes(keys, partition)]
    register, inbox, delayed = await read(zone_alone, commands)
    return _without_offset(LogState.parse(RegisterView.parse(register).state), [*inbox, *delayed])


async def waiting(
    zones: Sequence[Connection],
    keys: FencedKeys,
    partition: Partition,
    groups: Sequence[str],
    *,
    begins_last: bool = False,
) -> int:
    """Return the largest number of unfinished messages of any of ``groups``, by the newest registers of ``zones``.

    Messages without offset count if any zone has them. Raises what the port raises.
    """
    logs, cursors = [], []
    texts: dict[bytes, None] = {}
    for zone in zones:
        commands: list[Command] = [
            ("HMGET", keys.registers(partition), LOG_REGISTER, *map(group_register, groups)),
            *_inboxes(keys, partition),
        ]
        (log, *of_groups), inbox, delayed = await read(zone, commands)
        logs.append(RegisterView.parse(log))
        cursors.append([RegisterView.parse(cursor) for cursor in of_groups])
        texts.update(dict.fromkeys((*inbox, *delayed)))
    state = LogState.parse(max(logs, key=lambda view: view.age).state)
    begins = Progress(state.end if begins_last else state.floor)
    unfinished = []
    for of_group in zip(*cursors, strict=True):
        known = max(of_group, key=lambda view: view.age).state
        progress = CursorState.parse(known).progress if known else begins
        unfinished.append(state.end - progress.cursor - len(progress.above))
    return max(unfinished) + len(_without_offset(state, texts))


def _without_offset(log: LogState, texts: Iterable[bytes]) -> list[PartitionRecord]:
    """Return the records of inboxes that have no offset. A record that an ended log lacks was confirmed to nobody and
    is left out.
    """
    if log.ended:
        return []
    records = [PartitionRecord.parse(text.decode()) for text in texts]
    return [one for one in records if not log.has(one.producer, one.sequence)]


def _inboxes(keys: FencedKeys, partition: Partition) -> list[Command]:
    return [("ZRANGE", name(partition), 0, -1) for name in (keys.inbox, keys.delayed)]


def _pairs(flat: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def _of(record: PartitionRecord) -> dict[str, Any]:
    return {
        "key": record.key,
        "message_id": record.id,
        "producer": record.producer,
        "sequence": record.sequence,
    }
