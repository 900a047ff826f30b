"""Classes that a run's scenario allows, and that had too many cases to be left out of its headline."""

from collections.abc import Iterator

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.message_classes import IN_DOUBT, MORE_THAN_ONCE, MessageClass
from zonelab.analysis.number_text import digits, percent

SHARE_MAX = 0.01


def allowed_of(verdict: Verdict) -> tuple[str, ...]:
    """Classes with more cases than 1 in 100 messages pushed, or of what could have shown an anomaly, in words."""
    return tuple(_classes(verdict) if "queue" in verdict.sections else _anomalies(verdict))


def _classes(verdict: Verdict) -> Iterator[str]:
    pushed = verdict.totals.pushed
    for name in MessageClass:
        count = verdict.counts[name]
        if name not in (*verdict.forbid, *IN_DOUBT) and count > SHARE_MAX * pushed > 0:
            yield f"{count:,} {name.words} ({_of_messages(name, count / pushed)})"


def allowed_anomalies(verdict: Verdict) -> tuple[Anomaly, ...]:
    """Anomalies that the scenario allows, with more cases than 1 in 100 of what could have shown one."""
    seen = [name for name in Anomaly if verdict.counts[name] and name is not Anomaly.UNDECIDED]
    shares = {name: _share(name, verdict) for name in seen if name not in verdict.forbid}
    return tuple(name for name, (hits, trials, _) in shares.items() if trials and hits > SHARE_MAX * trials)


def _anomalies(verdict: Verdict) -> Iterator[str]:
    for name in allowed_anomalies(verdict):
        hits, trials, of = _share(name, verdict)
        yield f"{hits:,} {name.words} ({percent(hits / trials)} of {trials:,}{of})"


def _share(name: Anomaly, verdict: Verdict) -> tuple[int, int, str]:
    """Cases, how many there could be, and of what: of operations, where the checker does not tell."""
    share, locks = (verdict.consistency.shares.get(one, {}).get("all") for one in (name, Anomaly.NO_OWNER))
    if share is not None:
        return share.hits, share.trials, ""
    if name is Anomaly.DIVERGENT and locks is not None:
        return verdict.counts[name], locks.trials, " locks"
    return verdict.counts[name], verdict.begun, " operations"


def _of_messages(name: MessageClass, share: float) -> str:
    return f"{digits(100 * share)} per 100 messages" if name in MORE_THAN_ONCE else f"{percent(share)} of the messages"
