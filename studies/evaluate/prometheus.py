"""Figures of a stretch of time in production that Prometheus knows, by the queries of a rollout's ``verify``."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite, isnan
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

from zonelab.analysis.rates.objectives import CASES, COMMANDS, Figure
from zonelab.analysis.stages import Stage, made_in_turn, unheard
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.spec.evaluate import MESSAGES
from zonelab.studies.evaluate.production import Production, SeenFigure, is_comparable

ANSWER_S = 10.0
WINDOW = "$window"
"""In a query: the length of the stretch of time, such as ``3600s``."""

_QUANTILE = re.compile(r"histogram_quantile\(\s*(?P<share>[\d.]+)\s*,(?P<buckets>.+)\)", re.DOTALL)

Series = list[tuple[Mapping[str, str], float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prometheus:
    """A server, asked at ``to_s`` about the time since ``from_s``; both in seconds since 1970."""

    url: str
    from_s: float
    to_s: float

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise NotAccepted(f"--prometheus: got {self.url!r}; accepted: a URL such as http://127.0.0.1:9090")

    def production(self, setting: str, queries: Mapping[str, str], *, stage: Stage = unheard) -> Production:
        """Return what the queries say.

        Raises ``ClusterError`` if there is no answer, ``NotAccepted`` if a query is refused.
        """
        messages = _single(self._asked(MESSAGES, queries[MESSAGES])) if MESSAGES in queries else None
        figures = {name: Figure.parsed(name) for name in queries if name != MESSAGES}
        asked = [partial(self._seen, figure, queries[name], messages) for name, figure in figures.items()]
        seen = dict(zip(figures.values(), made_in_turn(stage, "queries", asked), strict=True))
        return Production(setting=setting, seconds=self.to_s - self.from_s, seen=seen)

    def _seen(self, figure: Figure, query: str, messages: float | None) -> SeenFigure:
        if not is_comparable(figure):
            return SeenFigure(lacking="a prediction has none")
        quantile = _QUANTILE.fullmatch(query.strip())
        if quantile is not None:
            self._check_share(figure, quantile["share"])
            buckets = _buckets(self._asked(str(figure), quantile["buckets"]))
            if buckets:
                return _in_buckets(buckets, float(quantile["share"]))
        value = _single(self._asked(str(figure), query))
        if value is None:
            return SeenFigure(lacking="Prometheus has no value")
        if not messages:
            return SeenFigure(lacking=f"verify.{MESSAGES} has no value, so its interval is unknown")
        each = value / messages if figure.name in (*CASES, COMMANDS) else value
        return SeenFigure(low=each, high=each, size=messages)

    def _check_share(self, figure: Figure, share: str) -> None:
        if figure.percentile is None or abs(float(share) - figure.percentile) > 1e-9:
            wanted = "no quantile" if figure.percentile is None else f"histogram_quantile({figure.percentile:g}, …)"
            raise NotAccepted(f"evaluate.verify: {figure}: got histogram_quantile({share}, …); accepted: {wanted}")

    def _asked(self, name: str, query: str) -> Series:
        window = f"{self.to_s - self.from_s:.0f}s"
        asked = urlencode({"query": query.replace(WINDOW, window), "time": f"{self.to_s:.3f}"})
        url = f"{self.url.rstrip('/')}/api/v1/query?{asked}"
        try:
            with urlopen(url, timeout=ANSWER_S) as answer:
                return _series(json.load(answer))
        except HTTPError as error:
            if error.code in (400, 422):
                raise NotAccepted(f"evaluate.verify: {name}: refused by {self.url}: {_why(error)}") from None
            raise ClusterError(f"{self.url}: answers {error.code} {error.reason}") from None
        except (URLError, TimeoutError, OSError) as error:
            raise ClusterError(f"{self.url}: does not answer: {getattr(error, 'reason', error)}") from None
        except (ValueError, KeyError, TypeError, IndexError):
            raise ClusterError(f"{self.url}: answers what is not of Prometheus") from None


def _why(error: HTTPError) -> str:
    try:
        return str(json.load(error)["error"])
    except (ValueError, KeyError, TypeError):
        return str(error.reason)


def _series(answer: Any) -> Series:
    data = answer["data"]
    if data["resultType"] == "scalar":
        return [({}, float(data["result"][1]))]
    return [(one["metric"], float(one["value"][1])) for one in data["result"]]


def _single(series: Series) -> float | None:
    """The only value; None if there is none, or more than one."""
    return series[0][1] if len(series) == 1 and not isnan(series[0][1]) else None


def _buckets(series: Series) -> list[tuple[float, float]]:
    """Upper ends and counts up to there, in order; none if this is no histogram of one series a bucket."""
    ends = [(float(labels["le"]), count) for labels, count in series if "le" in labels]
    whole = len(ends) == len(series) == len(dict(ends)) and max((end for end, _ in ends), default=0.0) == inf
    return sorted(ends) if whole else []


def _in_buckets(buckets: list[tuple[float, float]], share: float) -> SeenFigure:
    size = buckets[-1][1]
    if not size or not isfinite(size):
        return SeenFigure(lacking="its histogram is empty")
    place = next(number for number, (_, count) in enumerate(buckets) if count >= share * size - 1e-9)
    low = buckets[place - 1][0] if place else 0.0
    return SeenFigure(low=low, high=buckets[place][0], size=size)
