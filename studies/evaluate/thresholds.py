"""Times of a scenario after which an outage costs something else than before, so that no line tells what it costs."""

from collections.abc import Iterator, Sequence

from zonelab.scenarios.spec.scenario import Scenario


def passed(scenarios: Sequence[Scenario], *, longest_s: float, lasts_s: float) -> str:
    """Return which times of ``scenarios`` lie between the longest simulated outage and the real one, in words."""
    times = dict.fromkeys((name, at_s) for one in scenarios for name, at_s in _thresholds(one))
    return " and ".join(f"{name} ({at_s:g} s)" for name, at_s in times if longest_s < at_s <= lasts_s)


def _thresholds(scenario: Scenario) -> Iterator[tuple[str, float]]:
    replication = scenario.replication
    yield "the lease", scenario.queue.unack_ms / 1000
    if replication.anti_entropy is not None:
        yield "retention of anti-entropy", replication.anti_entropy.retention_s
    if replication.hinted_handoff is not None and scenario.rate_per_s:  # each message is one write at least
        yield "the queue of hints", replication.hinted_handoff.queue / scenario.rate_per_s
