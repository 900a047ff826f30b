"""What the V1 queue does, as plain dictionaries: the model that the real one is compared with.

A model knows no commands and no failures; each operation happens at once. ``compat`` gives the original's behaviour.
"""

import json
import math
from collections import deque
from dataclasses import dataclass, field


@dataclass
class Prefetch:
    """What one instance of the original remembers between pops."""

    ids: deque = field(default_factory=deque)
    demand: int = 0


class Model:
    def __init__(self, *, shards, lease_ms, batch, now_ms, compat):
        self.lease_ms, self.batch, self.compat = lease_ms, batch, compat
        self.now_ms = now_ms
        self.payloads = {}  # id → fields, in the order in which they are written
        self.waiting = {shard: {} for shard in shards}
        self.unacked = {shard: {} for shard in shards}
        self.prefetch = {shard: Prefetch() for shard in shards}

    def push(self, message, shard):
        fields = {"id": message.id}
        if message.payload:
            fields["payload"] = message.payload
        self.payloads[message.id] = fields | {"timeout": message.timeout_ms, "priority": message.priority}
        self.waiting[shard][message.id] = float(self.now_ms + message.timeout_ms) + message.priority / 100.0

    def pop(self, shard, count):
        """(id, payload, lease end) of each delivery."""
        if count < 1:
            return []
        candidates = self._prefetched(shard, count) if self.compat else iter(self.due(shard))
        deliveries = []
        while len(deliveries) < count and (message_id := next(candidates, None)) is not None:
            if self._lease(shard, message_id):
                payload = self.payloads[message_id].get("payload", "")
                deliveries.append((message_id, payload, self.now_ms + self.lease_ms))
        return deliveries

    def due(self, shard):
        return [name for name, score in in_order(self.waiting[shard]) if score <= self.now_ms + 1]

    def _prefetched(self, shard, count):
        prefetch = self.prefetch[shard]
        prefetch.demand += count
        read = self.due(shard)[: prefetch.demand]
        prefetch.ids += read
        prefetch.demand = max(0, prefetch.demand - len(read)) if read else 0
        while prefetch.ids:
            yield prefetch.ids.popleft()

    def _lease(self, shard, message_id):
        if message_id in self.unacked[shard]:
            return False
        self.unacked[shard][message_id] = self.now_ms + self.lease_ms
        return self.waiting[shard].pop(message_id, None) is not None and message_id in self.payloads

    def ack(self, message_id):
        for entries in self.unacked.values():
            if entries.pop(message_id, None) is not None:
                self.payloads.pop(message_id, None)
                return True
        return False

    def set_unack_timeout(self, message_id, timeout_ms):
        for entries in self.unacked.values():
            if message_id in entries:
                entries[message_id] = self.now_ms + timeout_ms
                return True
        return False

    def set_timeout(self, message_id, timeout_ms):
        fields = self.payloads.get(message_id)
        for entries in self.waiting.values():
            if fields and message_id in entries:
                fields["timeout"] = timeout_ms
                fraction = 0 if self.compat else fields["priority"] / 100.0
                entries[message_id] = float(self.now_ms + timeout_ms) + fraction
                return True
        return False

    def remove(self, message_id):
        if self.compat:
            return self._remove_waiting(message_id)
        places = [self.payloads, *self.waiting.values(), *self.unacked.values()]
        removed = [place.pop(message_id, None) for place in places]
        return any(value is not None for value in removed)

    def _remove_waiting(self, message_id):
        for shard, entries in self.waiting.items():
            self.unacked[shard].pop(message_id, None)
            if entries.pop(message_id, None) is not None:
                self.payloads.pop(message_id, None)
                return True
        return False

    def ensure(self, message, shard):
        if any(message.id in entries for entries in (*self.waiting.values(), *self.unacked.values())):
            return False
        self.push(message, shard)
        return True

    def process_unacks(self, shard):
        """(requeued, stale)."""
        expired = [(name, end) for name, end in in_order(self.unacked[shard]) if end <= self.now_ms]
        requeued = stale = 0
        for name, end in expired[: self.batch] if self.compat else expired:
            del self.unacked[shard][name]
            if name not in self.payloads:
                stale += 1
                continue
            requeued += name not in self.waiting[shard]
            priority = 0 if self.compat else self.payloads[name]["priority"] / 100.0
            self.waiting[shard][name] = math.floor(end) + priority
        return requeued, stale

    def clear(self):
        for place in (self.payloads, *self.waiting.values(), *self.unacked.values()):
            place.clear()

    def forget(self, shard):
        """The program that serves ``shard`` is started anew."""
        self.prefetch[shard] = Prefetch()

    def raw_payloads(self):
        return {name: json.dumps(fields, separators=(",", ":")).encode() for name, fields in self.payloads.items()}

    def adopt(self, found):
        """Take over what Redis holds."""
        self.payloads = {name: json.loads(raw) for name, raw in found.payloads.items()}
        for shard in self.waiting:
            self.waiting[shard] = dict(found.waiting.get(shard, {}))
            self.unacked[shard] = dict(found.unacked.get(shard, {}))


def in_order(entries):
    return sorted(entries.items(), key=lambda entry: (entry[1], entry[0]))
