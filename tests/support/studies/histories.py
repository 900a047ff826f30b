"""The smallest histories that the documentation publishes: what ``zonelab shrink`` makes of shipped scenarios.

``python -m support.studies.histories`` in ``tests/`` writes them, and their stories, anew into ``docs/histories``.
"""

from functools import cache
from pathlib import Path

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.scenarios.spec.reading import dump_scenario, load_scenario
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.shrink.search import Shrunk
from zonelab.studies.shrink.workload_run import shrink_accesses
from zonelab.studies.stories.story import story

HISTORIES = Path(__file__).parents[3] / "docs" / "histories"

PUBLISHED: dict[str, Anomaly] = {
    "stale-quorum-read": Anomaly.NONLINEARIZABLE,
    "two-writers": Anomaly.DIVERGENT,
    "eval-pops-differ": Anomaly.LEFT_BEHIND,
    "error-but-applied": Anomaly.APPLIED_IN_DOUBT,
}
"""Shipped scenario → what its smallest history shows."""


@cache
def made(name: str) -> Shrunk:
    return shrink_accesses(load_scenario(name, overrides=["arm=sim"]), PUBLISHED[name])


def published(name: str) -> Scenario:
    return load_scenario(str(HISTORIES / f"{name}.yaml"))


if __name__ == "__main__":
    HISTORIES.mkdir(exist_ok=True)
    for name, anomaly in PUBLISHED.items():
        scenario = made(name).scenario
        (HISTORIES / f"{name}.yaml").write_text(dump_scenario(scenario), encoding="utf-8")
        (HISTORIES / f"{name}.md").write_text(story(scenario, anomaly), encoding="utf-8")
