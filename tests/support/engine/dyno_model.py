"""What the V1 queue does, as plain dictionaries: the model that the real one is compared with.

A model knows no commands and no failures; each operation happens at once. ``compat`` gives the original's behaviour.
"""

import json
import math
from collections import deque
from dataclasses import dataclass, field


@dataclass
class Prefetch:
    """What one instance of the original remembers between pops: (shard, id), and its demand."""

    ids: deque = field(default_factory=deque)
    demand: int = 0

    def next_of(self, shards):
        """The first id of the first of ``shards`` that has any, or None."""
        for shard in shards:
            for entry in self.ids:
                if entry[0] == shard:
                    self.ids.remove(entry)
                    return entry
        return None


class Model:
    def __init__(self, *, shards, lease_ms, batch, now_ms, compat):
        self.lease_ms, self.batch, self.compat = lease_ms, batch, compat
        self.now_ms = now_ms
        self.payloads = {}  # id → fields, in the order in which they are written
        self.waiting = {shard: {} for shard in shards}
        self.unacked = {shard: {} for shard in shards}
        self.prefetch = {shard: Prefetch() for shard in shards}
        self.prefetch_of_all = {shard: Prefetch() for shard in shards}

    def push(self, message, shard):
        fields = {"id": message.id}
        if message.payload:
            fields["payload"] = message.payload
        self.payloads[message.id] = fields | {"timeout": message.timeout_ms, "priority": message.priority}
        self.waiting[shard][message.id] = float(self.now_ms + message.timeout_ms) + message.priority / 100.0

    def pop(self, shard, count, *, every=False, bulk=False):
        """(id, payload, lease end) of each delivery; ``every``: of every shard, ``bulk``: by one script."""
        if self.compat and bulk:
            return self._pop_together(shard, count, every=every)
        candidates = self._prefetched(shard, count, every=every) if self.compat else self._candidates(shard, every)
        deliveries = []
        while len(deliveries) < count and (candidate := next(candidates, None)) is not None:
            if (self._lease_if_whole if bulk else self._lease)(*candidate):
                deliveries.append(self._delivery(candidate[1]))
        return deliveries

    def _delivery(self, message_id):
        return message_id, self.payloads[message_id].get("payload", ""), self.now_ms + self.lease_ms

    def _candidates(self, shard, every):
        places = self._own_first(shard) if every else [shard]
        return iter([(place, message_id) for place in places for message_id in self.due(place)])

    def _own_first(self, shard):
        return [shard, *(other for other in self.waiting if other != shard)]

    def _lease_if_whole(self, shard, message_id):
        return message_id in self.payloads and message_id not in self.unacked[shard] and self._lease(shard, message_id)

    def _pop_together(self, shard, count, *, every):
        """One id that waits nowhere spoils what comes after it and hides what came before."""
        self._refill(shard, count, every=every)
        prefetch, places = self._memory(shard, every), list(self.waiting) if every else [shard]
        entries = [entry for entry in (prefetch.next_of(places) for _ in range(count)) if entry is not None]
        deliveries = []
        for _, message_id in entries:
            known = [place for place in places if message_id in self.waiting[place]]
            if not known:
                return []
            due = [place for place in known if message_id in self.due(place)]
            if due and message_id in self.payloads:
                del self.waiting[due[0]][message_id]
                self.unacked[due[0]].setdefault(message_id, self.now_ms + self.lease_ms)
                deliveries.append(self._delivery(message_id))
        return deliveries

    def pop_with_id(self, shard, message_id, *, every=False):
        for place in self.waiting if every else [shard]:
            eligible = message_id in (self.waiting[place] if self.compat else self.due(place))
            if eligible and self._lease_if_whole(place, message_id):
                return self._delivery(message_id)
        return None

    def pop_matching(self, shard, payload, *, own):
        """The first due message whose payload is ``payload``; (id, lease end).

        Of equals in two shards the original leases that of the lower rank, as it reads all shards rank by rank.
        """
        found = []
        for place in [shard] if own else self.waiting:
            for rank, message_id in enumerate(self.due(place)):
                free = self.compat or message_id not in self.unacked[place]
                if free and self.payloads.get(message_id, {}).get("payload") == payload:
                    found.append((self.waiting[place][message_id], rank * self.compat, place, message_id))
                    break
        if not found:
            return None
        *_, place, message_id = min(found, key=lambda entry: entry[:2])
        del self.waiting[place][message_id]
        self.unacked[place].setdefault(message_id, self.now_ms + self.lease_ms)
        return message_id, self.now_ms + self.lease_ms

    def stale(self):
        found = []
        for shard, entries in self.waiting.items():
            due = [name for name, score in in_order(entries) if score <= self.now_ms]
            found += [name for name in due if name not in self.payloads and name not in self.unacked[shard]]
        return found

    def atomic_remove(self, message_id):
        waiting, unacked = (
            sum(entries.pop(message_id, None) is not None for entries in places.values())
            for places in (self.waiting, self.unacked)
        )
        payload = self.payloads.pop(message_id, None) is not None
        if self.compat:
            return 1 in (waiting, unacked, payload)
        return waiting + unacked + payload > 0

    def unsafe_peek(self, count):
        """The first ids of all shards in order, as far as they have payloads."""
        entries = sorted((score, name) for places in self.waiting.values() for name, score in places.items())
        ids = dict.fromkeys(name for score, name in entries if score <= self.now_ms + 1)
        return [name for name in list(ids)[:count] if name in self.payloads]

    def due(self, shard):
        return [name for name, score in in_order(self.waiting[shard]) if score <= self.now_ms + 1]

    def _memory(self, shard, every):
        return (self.prefetch_of_all if every else self.prefetch)[shard]

    def _refill(self, shard, count, *, every):
        prefetch = self._memory(shard, every)
        prefetch.demand += count
        for place in self._own_first(shard) if every else [shard]:
            read = self.due(place)[: prefetch.demand]
            prefetch.ids += [(place, message_id) for message_id in read]
            prefetch.demand = max(0, prefetch.demand - len(read)) if read or every else 0

    def _prefetched(self, shard, count, *, every):
        self._refill(shard, count, every=every)
        while (entry := self._memory(shard, every).next_of(self._own_first(shard))) is not None:
            yield entry

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

    def process_unacks(self, shard, *, atomic=False):
        """(requeued, stale). Only the script counts as requeued what is waiting already."""
        expired = [(name, end) for name, end in in_order(self.unacked[shard]) if end <= self.now_ms]
        requeued = stale = 0
        for name, end in expired[: self.batch] if self.compat else expired:
            del self.unacked[shard][name]
            if name not in self.payloads:
                stale += 1
                continue
            requeued += atomic or name not in self.waiting[shard]
            priority = 0 if self.compat else self.payloads[name]["priority"] / 100.0
            self.waiting[shard][name] = math.floor(end) + priority
        return requeued, stale

    def clear(self):
        for place in (self.payloads, *self.waiting.values(), *self.unacked.values()):
            place.clear()

    def forget(self, shard):
        """The program that serves ``shard`` is started anew."""
        self.prefetch[shard] = Prefetch()
        self.prefetch_of_all[shard] = Prefetch()

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
