"""The SQL that gathers what is known of each message, one row a message.

Almost every message is pushed, delivered and acked once, and every attempt on it has its answer. Such a message is
``plain``: sums over its rows suffice, and since these are numbers, Spark makes most of them before rows change places.
The rows of the others are read once more, for ``zonelab.analysis.spark.leases``.
"""

from collections.abc import Mapping

from zonelab.analysis.runs.history import MessageColumns

# Zones and shards by number, as sums cannot be made of names; ``names`` has them.
_CODE = "IF({name} IS NULL, NULL, xxhash64({name}))"

_CODED = ("message_id", "key", "shard", "delivery")
_AS_RECORDED = ", ".join(name for name in MessageColumns._fields if name not in _CODED)

EVENTS = f"""
    SELECT run, message_id, index, op_id, f, type, time_ns, coalesce(invoke_ns, time_ns) AS invoke_ns,
           xxhash64(zone) AS zone, xxhash64(process) AS program, {_CODE.format(name="shard")} AS shard,
           IF(f = 'pop', coalesce(delivery, op_id), delivery) AS delivery,
           {_AS_RECORDED}
    FROM history WHERE message_id IS NOT NULL
"""

NAMES = """
    SELECT DISTINCT xxhash64(name) AS code, name
    FROM (SELECT explode(array(zone, shard)) AS name FROM (SELECT DISTINCT zone, shard FROM history))
    WHERE name IS NOT NULL
"""

# Of rows that are answers, or attempts in doubt, which have the type 'info'; invocations that were answered are passed
# over. Numbers and truths only.
_PUSHED_LEAST, _PUSHED_MOST, _POPPED_LEAST, _POPPED_MOST = (
    f"{least}(body) FILTER (WHERE f = '{f}' AND type IN ({types}))"
    for f, types in (("push", "'ok', 'info'"), ("pop", "'ok'"))
    for least in ("min", "max")
)
_FACTS = f"""
    count_if(f = 'push' AND type <> 'invoke') > 0 AS pushed,
    count_if(f = 'push' AND type = 'ok') > 0 AS push_ok,
    count_if(f = 'push' AND type = 'info') > 0 AS push_doubtful,
    count_if(f = 'push' AND type <> 'invoke' AND lease_ms = 0) > 0 AS at_most_once,
    coalesce(
        {_PUSHED_LEAST} = {_PUSHED_MOST} AND ({_POPPED_LEAST} < {_PUSHED_LEAST} OR {_POPPED_MOST} > {_PUSHED_MOST}),
        false
    ) AS wrong_body,
    count_if(f = 'pop' AND type = 'ok') AS deliveries,
    count_if(f = 'ack' AND type IN ('ok', 'info')) > 0 AS ack_tried,
    min(time_ns) FILTER (WHERE f = 'ack' AND type = 'ok') AS acked_ns,
    min(time_ns) FILTER (WHERE f = 'push' AND type = 'ok') AS pushed_ns,
    max_by(shard, index) FILTER (WHERE f = 'push' AND type = 'ok') AS confirmed_shard,
    max_by(priority, index) FILTER (WHERE f = 'push' AND type = 'ok') AS confirmed_priority,
    max(time_ns) FILTER (WHERE f = 'pop' AND type = 'ok') AS last_popped_ns,
    IF(count_if(f = 'pop' AND type = 'ok') = 0, NULL, IF(
        count_if(f = 'pop' AND type = 'ok' AND lease_end_ms IS NULL) > 0, NULL,
        max(lease_end_ms) FILTER (WHERE f = 'pop' AND type = 'ok')
    )) AS leased_until_ms,
    max_by(shard, index) FILTER (WHERE shard IS NOT NULL AND type <> 'invoke') AS shard,
    min(index) FILTER (WHERE type <> 'invoke') AS first_index,
    coalesce(
        min(due_ms) FILTER (WHERE f = 'push' AND type = 'ok'),
        min(due_ms) FILTER (WHERE f = 'push' AND type <> 'invoke'),
        min(due_ms) FILTER (WHERE f = 'pop' AND type = 'ok')
    ) AS due_ms,
    min(due_ms) FILTER (WHERE f = 'push' AND type = 'info') AS due_in_doubt_ms
"""

# What became of the one delivery that a plain message may have.
_POP = ", ".join(
    f"max({column}) FILTER (WHERE f = 'pop' AND type = 'ok') AS popped_{column}"
    for column in ("index", "delivery", "zone", "time_ns", "invoke_ns", "lease_end_ms")
)

# What leads to ``plain``: two attempts that are as many as the answers, and the first and last of both are the same,
# are all answered.
GATHERED = f"""
    SELECT m.*, r.epoch_ns,
           unanswerable = 0 AND deliveries <= 1 AND attempts <= 2 AND attempts = answers
           AND first_attempt <=> first_answer AND last_attempt <=> last_answer
           AND coalesce((r.epoch_ns + ack_invoke_ns) DIV 1000000 <= popped_lease_end_ms, true) AS plain
    FROM (
        SELECT run, message_id, {_FACTS}, {_POP},
               count_if(f = 'extend' OR f = 'pop' AND type = 'invoke') AS unanswerable,
               count_if(type = 'invoke') AS attempts, count_if(type <> 'invoke' AND f <> 'pop') AS answers,
               min(op_id) FILTER (WHERE type = 'invoke') AS first_attempt,
               max(op_id) FILTER (WHERE type = 'invoke') AS last_attempt,
               min(op_id) FILTER (WHERE type <> 'invoke' AND f <> 'pop') AS first_answer,
               max(op_id) FILTER (WHERE type <> 'invoke' AND f <> 'pop') AS last_answer,
               max(invoke_ns) FILTER (WHERE f = 'ack' AND type = 'ok') AS ack_invoke_ns
        FROM events GROUP BY run, message_id
    ) m JOIN runs r ON r.run = m.run
"""

_BUCKET = f"pmod(xxhash64(run, message_id), {2**20})"

# The events of the messages that are not plain. Which buckets these are in is little, however many they are, so every
# reader of a history has it and passes over most rows before they are sorted by message.
RETOLD = f"""
    SELECT e.*, g.epoch_ns
    FROM (
        SELECT * FROM (SELECT *, {_BUCKET} AS bucket FROM events)
        LEFT SEMI JOIN (SELECT /*+ BROADCAST */ DISTINCT {_BUCKET} AS bucket FROM gathered WHERE NOT plain)
        USING (bucket)
    ) e JOIN (SELECT run, message_id, epoch_ns FROM gathered WHERE NOT plain) g
    ON g.run = e.run AND g.message_id = e.message_id
"""

# What became of each attempt on these messages; an invocation without an answer is in doubt.
OUTCOMES = """
    SELECT * EXCEPT (answered, type), IF(type = 'invoke', 'info', type) AS type
    FROM (SELECT *, bool_or(type <> 'invoke') OVER (PARTITION BY run, message_id, op_id) AS answered FROM retold)
    WHERE type <> 'invoke' OR NOT answered
"""

# ``touches``: every delivery, confirmed ack and extension that may have worked.
CONTESTED = f"""
    SELECT run, message_id, epoch_ns, {_FACTS},
           collect_list(
               struct(index, f, type, time_ns, invoke_ns, zone, delivery, lease_start_ms, leased_ms, lease_end_ms)
           ) FILTER (WHERE f IN ('pop', 'ack') AND type = 'ok'
                     OR f = 'extend' AND type <> 'fail' AND lease_end_ms IS NOT NULL) AS touches
    FROM outcomes GROUP BY run, message_id, epoch_ns
"""

_KEPT = """run, message_id, epoch_ns, pushed, push_ok, push_doubtful, at_most_once, wrong_body, deliveries, ack_tried,
    acked_ns, pushed_ns, confirmed_shard, confirmed_priority, shard, first_index, due_ms, due_in_doubt_ms,
    last_popped_ns, leased_until_ms"""

MESSAGES = f"SELECT {_KEPT} FROM gathered WHERE plain UNION ALL SELECT {_KEPT} FROM contested"

VIEWS: Mapping[str, str] = {
    "events": EVENTS,
    "names": NAMES,
    "gathered": GATHERED,
    "retold": RETOLD,
    "outcomes": OUTCOMES,
    "contested": CONTESTED,
    "messages": MESSAGES,
}
"""Views in the order in which they build on each other."""
