"""The banner of a live page: which zones are down, and who cannot reach whom, in a sentence."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from zonelab.analysis.number_text import counted, listed

ALL_WELL = "All zones are up and reach each other."
SENTENCES_MAX = 4
_UP = "running"


def health_of(zones: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return ``well`` and ``words`` of the rows of zones that a page shows, and ``away``: whom each one cannot reach.

    A zone is *down* if neither its server nor its coordinator runs. That nobody reaches a server that does not run
    goes without saying. A coordinator that has not answered yet says nothing of whom it reaches.
    """
    at_fault = {row["zone"] for row in zones if row["server"]["state"] != _UP}
    found = [*map(_states, zones), *(_reach(row, at_fault) for row in zones)]
    told = [words for words in found if words]
    more = [f"and {counted(len(told) - SENTENCES_MAX, 'further trouble')}"] if len(told) > SENTENCES_MAX else []
    words = "; ".join([*told[:SENTENCES_MAX], *more]) if told else ALL_WELL
    away = {row["zone"]: list(_away(row["statistics"])) for row in zones if row["statistics"] is not None}
    return {"well": not told, "words": words, "away": away}


def _states(row: Mapping[str, Any]) -> str:
    server, coordinator = row["server"]["state"], row["coordinator"]["state"]
    if _UP not in (server, coordinator):
        return f"zone {row['zone']} is down"
    troubles = [f"the server of {row['zone']} is {server}"] * (server != _UP)
    troubles += [f"the coordinator of {row['zone']} is {coordinator}"] * (coordinator != _UP)
    return "; ".join(troubles)


def _reach(row: Mapping[str, Any], at_fault: Collection[str]) -> str:
    if row["statistics"] is None or row["coordinator"]["state"] != _UP:
        return ""
    away = [name for name in _away(row["statistics"]) if name not in at_fault]
    return f"{row['zone']} cannot reach {listed(away)}" if away else ""


def _away(statistics: Mapping[str, Any]) -> Iterator[str]:
    for reached in (statistics.get("connected", {}), statistics.get("peers", {})):
        yield from (name for name, is_reached in reached.items() if not is_reached)
