"""The file that the answers to ``zonelab new rollout --ask`` make."""

import json
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from zonelab.analysis.lags.distributions import Distribution, quantiles_ms
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.lags.distributions import distribution_of
from zonelab.scenarios.spec.load_times import RECONNECT_MAX_S
from zonelab.studies.evaluate.answers import OUTAGES, RolloutAnswers, answers_of
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.evaluate.template_text import WrittenValue, filled

_BUSY = 0.85
"""Part of the programs that work when one zone is out."""

_LOAD_S_LEAST = 6
_DRAWS = 100_000


def asked_text(texts: Sequence[str]) -> str:
    """The file of the answers, with the defaults of questions that are not answered yet.

    Raises ``ValueError``, or ``ScenarioError`` if it is no rollout.
    """
    return checked(filled(_values(answers_of(texts)), made_by="Made of the answers to zonelab new rollout --ask."))


def checked(text: str) -> str:
    """Return ``text``. Raises ``ScenarioError`` if it is no rollout."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rollout.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            Rollout.load(str(path))
        except ScenarioError as error:
            raise ScenarioError([line.removeprefix(f"{path}: ") for line in error.lines]) from None
    return text


def _values(answers: RolloutAnswers) -> dict[str, WrittenValue]:
    work = distribution_of(parse_lag(answers.work))
    longest_s = max(answers.leases_ms) / 1e3
    work_s = float(quantiles_ms(work, 0.999)) / 1e3
    interval_ms = max(1, min(answers.leases_ms) // 4)
    drain_s = ceil(longest_s + interval_ms / 1e3 + 2 * work_s + RECONNECT_MAX_S)
    return {
        "topology.zones": WrittenValue(_list(answers.zones)),
        **_lags(answers),
        "persistence": WrittenValue(answers.persistence),
        "queue.unack_ms": WrittenValue(str(answers.leases_ms[0])),
        "queue.unack_interval_ms": WrittenValue(str(interval_ms)),
        "load.duration_s": WrittenValue(f"{max(_LOAD_S_LEAST, ceil(longest_s))}", "of one run: the longest lease"),
        "load.rate_per_s": _rates(answers.rates_per_s),
        "consumers.per_zone": programs(sum(answers.rates_per_s.values()), work, zones=len(answers.zones)),
        "consumers.batch": WrittenValue("1"),
        "consumers.processing": WrittenValue(json.dumps(answers.work), "work on one, as a distribution"),
        "drain.bound_s": WrittenValue(
            str(drain_s), "after a run: leases, work, reconnecting; what was not delivered by then counts as lost"
        ),
        "evaluate.vary": WrittenValue(
            "" if answers.vary else "{}", below=tuple(f"{path}: {_list(each)}" for path, each in answers.vary.items())
        ),
        "evaluate.objectives": WrittenValue("", below=tuple(f"- {one}" for one in answers.objectives)),
        "evaluate.faults": _faults(answers),
    }


def _lags(answers: RolloutAnswers) -> dict[str, WrittenValue]:
    """Return one lag for all, and where links differ those of each link."""
    texts = set(answers.lags.values()) or {"0"}
    if len(texts) == 1:
        return {"links.lag": WrittenValue(json.dumps(texts.pop()), "one way: half of the way there and back")}
    below = tuple(
        f'"{source}>{target}": {json.dumps(lag)}'
        for (one, other), lag in answers.lags.items()
        for source, target in ((one, other), (other, one))
    )
    return {
        "links.lag": WrittenValue('"0"', "not used: every link has its own below"),
        "links.overrides": WrittenValue("", "one way: half of the way there and back; median, 99th percentile", below),
    }


def _rates(rates_per_s: Mapping[str, float]) -> WrittenValue:
    if len(set(rates_per_s.values())) == 1:
        return WrittenValue(f"{next(iter(rates_per_s.values())):.9g}", "messages a second that each zone pushes")
    text = ", ".join(f"{zone}: {rate:.9g}" for zone, rate in rates_per_s.items())
    return WrittenValue(f"{{{text}}}", "messages a second that each zone pushes")


def programs(rate_per_s: float, work: Distribution, *, zones: int) -> WrittenValue:
    """Return so many in each zone that those of the other zones can do all the work while one zone is out."""
    mean_s = float(work.draw(np.random.default_rng(1), _DRAWS).mean()) / 1e3
    programs = max(1, ceil(rate_per_s * mean_s / _BUSY / max(1, zones - 1)))
    return WrittenValue(str(programs), f"programs: with a zone out the others are at work for {_BUSY:.0%} of the time")


def _faults(answers: RolloutAnswers) -> WrittenValue:
    if not answers.outages:
        return WrittenValue("{}", "what a year brings: nothing")
    lines: list[str] = []
    for one in answers.outages:
        fault = ", ".join(f"{name}: {value}" for name, value in OUTAGES[one.kind][1].items())
        if one.kind == "zone" and len(answers.zones) > 1:
            fault += ", arrivals: move"  # the other zones' programs are enough for all jobs
        lines += [
            f"{one.name}:",
            f"  per_year: {one.per_year:g}  # times a year",
            f"  lasts_s: {one.lasts_s:g}  # seconds each",
            f"  fault: {{{fault}}}",
        ]
    return WrittenValue("", below=tuple(lines))


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(values)}]"
