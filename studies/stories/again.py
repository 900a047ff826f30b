"""A simulated run made again from its ``scenario.yaml`` and watched: it counts only if it is the same run."""

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.run_summary import load_verdict
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.run.simulated import Observe
from zonelab.scenarios.run.trial import Trial, attempt
from zonelab.scenarios.run_phases import Watcher
from zonelab.scenarios.spec.reading import RESOLVED_NAME, load_scenario
from zonelab.scenarios.spec.scenario import Scenario

MESSAGES_MAX = 20_000
"""Messages of a run that is made again: all of it is in memory meanwhile."""

ON_REAL_SERVERS = "the run was on real servers, which keep no record of what they held in between"


class NotMadeAgain(Exception):
    """The run was not made again, or became another one. The message says why."""


def kept_scenario(run: RunDirectory, *, messages_max: int | None = None) -> Scenario:
    """Return the scenario of a run that can be made again: it was simulated, and has at most ``messages_max``.

    Raises ``NotMadeAgain``, or ``RunError`` if the files of the run cannot be read.
    """
    if run.info.arm != Arm.SIM:
        raise NotMadeAgain(ON_REAL_SERVERS)
    if getattr(run.info, "trace_hash", None) is None:
        raise NotMadeAgain("the run was broken off, so nothing tells whether it was made again as it was")
    most, of_queue = MESSAGES_MAX if messages_max is None else messages_max, run.info.workload is None
    begun = load_verdict(run).begun if of_queue else run.operation_rows() // 2
    if begun > most:
        what = "messages" if of_queue else "operations"
        raise NotMadeAgain(f"the run has {begun:,} {what}; it is made again up to {most:,}")
    return resolved_scenario(run)


def resolved_scenario(run: RunDirectory) -> Scenario:
    """Return the scenario of a run. Raises ``NotMadeAgain`` if this version cannot read it."""
    try:
        return load_scenario(str(run.path / RESOLVED_NAME))
    except ScenarioError as error:
        raise NotMadeAgain(f"the run cannot be made again: {error.lines[0]}") from error


def made_again(
    run: RunDirectory, scenario: Scenario, *, observe: Observe | None = None, watcher: Watcher | None = None
) -> Trial:
    """Make ``run`` again, which was one of ``scenario``. Raises ``NotMadeAgain`` if it becomes another run."""
    trial = attempt(scenario, observe=observe, watcher=watcher)
    was = getattr(run.info, "trace_hash", "")
    if trial.run.trace_hash != was:
        raise NotMadeAgain(
            f"made again it is another run (trace hash {trial.run.trace_hash[:12]}…, not {was[:12]}…): zonelab, or the "
            "queue, has changed since"
        )
    return trial
