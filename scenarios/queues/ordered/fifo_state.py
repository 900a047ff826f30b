"""Rows of ``zonelab.analysis.runs.order.FINAL_ORDER`` of what a zone holds of ordered messages."""

import json
from typing import Any

from zonelab.engine.fifo.log.record import LogEntry


def log_row(zone: str, partition: str, entry: LogEntry) -> dict[str, Any]:
    record = entry.record
    return {
        "place": "log",
        "zone": zone,
        "partition": partition,
        "offset": entry.offset,
        "key": record.key,
        "message_id": record.id,
        "producer": record.producer,
        "sequence": record.sequence,
    }


def cursor_row(zone: str, group: str, partition: str, cursor: int) -> dict[str, Any]:
    return {"place": "cursor", "zone": zone, "group": group, "partition": partition, "offset": cursor}


def dead_row(zone: str, group: str, member: str) -> dict[str, Any]:
    """``member``: as ``zonelab.engine.fifo.zones.dead_letters`` writes it."""
    message_id, partition, offset, _ = json.loads(member.partition(" ")[2])
    columns = {"group": group, "partition": partition, "offset": offset, "message_id": message_id}
    return {"place": "dead", "zone": zone, **columns}
