"""The SQL of five properties of ordered messages: every view, and the order in which they build on each other.

``order_cases`` has a row a case, as the checker's ``Case``; ``index`` is -1 where no event shows it.
``order_counts`` has a row a run and property.
"""

from collections.abc import Mapping

from zonelab.analysis.spark.order import appended, cursors, events, exclusion, sequence

PROPERTIES = ("I1", "I3", "I4", "I6", "I9")

_PARTS = (appended, sequence, exclusion, cursors)

CASES = " UNION ALL ".join(f"({part.CASES})" for part in _PARTS)
CHANCES = " UNION ALL ".join(f"({part.CHANCES})" for part in _PARTS)

COUNTS = f"""
    SELECT r.run, p.property, coalesce(c.cases, 0) AS cases, coalesce(o.chances, 0) AS chances
    FROM order_runs r
    CROSS JOIN (SELECT explode(array({", ".join(f"'{name}'" for name in PROPERTIES)})) AS property) p
    LEFT JOIN (
        SELECT run, property, count_if(what <> 'fenced-harmless') AS cases FROM order_cases GROUP BY run, property
    ) c ON c.run = r.run AND c.property = p.property
    LEFT JOIN order_chances o ON o.run = r.run AND o.property = p.property
"""

VIEWS: Mapping[str, str] = {
    **events.VIEWS,
    **appended.VIEWS,
    **sequence.VIEWS,
    **exclusion.VIEWS,
    **cursors.VIEWS,
    "order_cases": CASES,
    "order_chances": CHANCES,
    "order_counts": COUNTS,
}
"""Views in the order in which they build on each other."""

KEPT = (
    "order_told_events",
    "order_events",
    "order_log",
    "order_cursors",
    "order_told",
    "order_messages",
    "order_followers",
)
"""Views that several queries need: each would compute them again."""
