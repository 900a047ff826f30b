"""The file that ``zonelab evaluate --from`` makes: the template with what running servers and measured lags say."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from zonelab.analysis.number_text import digits
from zonelab.cluster.admin.server_survey import ServerSurvey
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.zone import Address
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.lags.distributions import distribution_of
from zonelab.scenarios.spec.reading import read_yaml_file
from zonelab.studies.evaluate.asked_file import programs
from zonelab.studies.evaluate.template_text import TEMPLATE, WrittenValue, filled

PUSHED_BY = (("HSET",), ("XADD",), ("LPUSH", "RPUSH"), ("ZADD",), ("SET",))
"""Commands of which a push is one each: the first of these that servers carried out counts."""

_NAMES = "abcdefghijklmnopqrstuvwxyz"
_PAYLOAD_MAX = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadRollout:
    """``text``: the file. ``told``: a line for each value, with how it was read."""

    text: str
    told: tuple[str, ...]


def read_rollout(surveys: Sequence[ServerSurvey], *, lags: Path | None, file: Path) -> ReadRollout:
    """The file at ``file``, whose traces are named from its folder.

    Raises ``NotAccepted`` if the servers did nothing that could be a push, or a lag is missing.
    """
    zones = dict(zip(_NAMES, (one.address for one in surveys), strict=False))
    values = {
        "topology.zones": WrittenValue(f"[{', '.join(zones)}]", ", ".join(map(str, zones.values()))),
        **_load(surveys),
        "persistence": _persistence(surveys),
        **({} if lags is None else _links(zones, lags, file.parent)),
    }
    told = [f"{path}: {one.text or ', '.join(one.below)} ({one.comment})" for path, one in values.items()]
    own = [] if lags is not None else ["links.lag: that of the template, as no --lags was given"]
    rest = "the rest (leases, work, objectives, outages, what to choose from) is the template's: change what differs"
    made_by = f"Read from {', '.join(map(str, zones.values()))} by zonelab evaluate --from; the rest is a template."
    return ReadRollout(text=filled(values, made_by=made_by), told=(*told, *own, rest))


def _load(surveys: Sequence[ServerSurvey]) -> dict[str, WrittenValue]:
    """Return rate, size and programs; each server carries out the pushes of all zones."""
    done = {name for one in surveys for name in one.calls}
    names = next((names for names in PUSHED_BY if done.intersection(names)), None)
    if names is None:
        accepted = f"servers of a queue in use, with {', '.join(name for names in PUSHED_BY for name in names)}"
        raise NotAccepted(f"--from: got no push within {surveys[0].seconds:.0f} s; accepted: {accepted}")
    pushed = [sum(one.calls.get(name, 0) for name in names) for one in surveys]
    rate = sum(count / one.seconds for count, one in zip(pushed, surveys, strict=True)) / len(surveys)
    size = min(_PAYLOAD_MAX, round(sum(one.bytes_in for one in surveys) / max(1, sum(pushed))))
    how = f"{' and '.join(names)} in INFO commandstats, twice, {surveys[0].seconds:.0f} s apart"
    work = read_yaml_file(TEMPLATE)["consumers"]["processing"]
    return {
        "load.rate_per_s": WrittenValue(
            f"{rate / len(surveys):.4g}", f"{digits(rate)} a second at each server, of all zones: {how}"
        ),
        "load.payload_bytes": WrittenValue(
            str(size), "at most: total_net_input_bytes of INFO stats in that time, per push; other commands are in it"
        ),
        "consumers.per_zone": programs(rate, distribution_of(parse_lag(work)), zones=len(surveys)),
    }


def _persistence(surveys: Sequence[ServerSurvey]) -> WrittenValue:
    first, *others = surveys
    different = [f"{one.address} has {one.persistence}" for one in others if one.persistence != first.persistence]
    return WrittenValue(first.persistence, "; ".join([f"{first.persistence_by} of {first.address}", *different]))


def _links(zones: Mapping[str, Address], lags: Path, folder: Path) -> dict[str, WrittenValue]:
    """Return a trace for each link: from a folder of a zone's own below ``lags``, or from ``lags`` for all zones."""
    below = []
    for source, target in permutations(zones, 2):
        name = f"{zones[target].host.replace(':', '_')}-{zones[target].port}.csv"
        found = next((path for path in (lags / source / name, lags / name) if path.is_file()), None)
        if found is None:
            raise NotAccepted(f"--lags: got no {lags / source / name}; accepted: it, or {lags / name} for all zones")
        parse_lag(f"trace:{found}")
        below.append(f'"{source}>{target}": "trace:{os.path.relpath(found, folder)}"')
    return {
        "links.lag": WrittenValue('"0"', "not used: every link has its own below"),
        "links.overrides": WrittenValue("", "traces of zonelab measure-lag: half of each round trip", tuple(below)),
    }
