"""The SQL that finds priority inversions: by sorting, without comparing messages in pairs.

A message was passed over if, of the less urgent ones of its group (shard and due time) that were served before its own
pop was invoked, the latest pop was invoked after its push was confirmed. Less urgent means a larger number, and of two
numbers the larger has the one at the highest bit in which they differ. So the messages of a group in which order was
broken are looked at bit by bit: those with a one there may pass over those with a zero and the same higher bits. Among
these a running maximum over time is the answer.
"""

from collections.abc import Mapping

# The first delivery of each message whose push was confirmed with a shard and a priority.
SERVED = """
    SELECT run, message_id, index, delivery, confirmed_shard AS shard, CAST(confirmed_priority AS INT) AS priority,
           due_ms, pushed_ns, invoke_ns AS popped_ns, time_ns AS served_ns
    FROM judged
    WHERE nth = 1 AND confirmed_shard IS NOT NULL AND confirmed_priority >= 0 AND due_ms IS NOT NULL
"""

# Messages of groups in which a more urgent one was popped later, and how many bits their priorities have.
SUSPECTS = """
    SELECT * EXCEPT (passed)
    FROM (
        SELECT *, bool_or(passed) OVER (PARTITION BY run, shard, due_ms) AS suspect,
               length(bin(max(priority) OVER (PARTITION BY run, shard, due_ms))) AS bits
        FROM (
            SELECT *, max(priority) OVER (PARTITION BY run, shard, due_ms ORDER BY popped_ns) > priority AS passed
            FROM served
        )
    )
    WHERE suspect
"""

INVERSIONS = """
    SELECT DISTINCT run, message_id, index, delivery
    FROM (
        SELECT *, max(other_popped_ns) OVER (
                   PARTITION BY run, shard, due_ms, bit, higher ORDER BY at_ns, other_popped_ns NULLS FIRST
                   ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
               ) AS latest_pop_ns
        FROM (
            SELECT *, shiftright(priority, bit + 1) AS higher,
                   IF(getbit(priority, bit) = 1, served_ns, popped_ns) AS at_ns,
                   IF(getbit(priority, bit) = 1, popped_ns, NULL) AS other_popped_ns
            FROM (SELECT *, explode(sequence(0, bits - 1)) AS bit FROM suspects)
        )
    )
    WHERE other_popped_ns IS NULL AND latest_pop_ns > pushed_ns
"""

VIEWS: Mapping[str, str] = {"served": SERVED, "suspects": SUSPECTS, "inversions": INVERSIONS}
"""Views in the order in which they build on each other."""
