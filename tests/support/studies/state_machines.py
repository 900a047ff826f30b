"""Searches with Hypothesis's state machines whose seeds are fixed: what a machine raises, without shrinking.

``ZONELAB_THOROUGH=20`` gives the searches that must find nothing twenty times as many examples.
"""

import os
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from zonelab.analysis.message_classes import MessageClass
from zonelab.cluster.votes.levels import Level
from zonelab.studies.properties import QueueMachine, Violation
from zonelab.studies.properties.ledger import Fate

GONE = frozenset({MessageClass.LOST, MessageClass.ABANDONED, MessageClass.STUCK})

SEARCHES = 225
EXAMPLES = 8
THOROUGH = int(os.environ.get("ZONELAB_THOROUGH", "1"))


def search(machine: type[RuleBasedStateMachine], *, examples: int, steps: int = 30, at: int = 1) -> Violation | None:
    """What the machine raises, or None. Hypothesis's draws depend on ``at``, and a little on what is imported."""
    seed(at)(machine)
    options = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(machine, settings=options)
    except Violation as violation:
        return violation
    return None


def hunt(machine: type[RuleBasedStateMachine]) -> Violation | None:
    """What the first of some searches raises, or None.

    Many short searches, as the examples of one search resemble each other: what a search has not found early, another
    one finds sooner than it does.
    """
    searches = (search(machine, examples=EXAMPLES, at=at) for at in range(SEARCHES))
    return next((violation for violation in searches if violation is not None), None)


def kind_found(machine: type[RuleBasedStateMachine], **changes: Any) -> MessageClass | None:
    """What kind of violation ``hunt`` finds in ``machine`` with ``changes``."""
    violation = hunt(type("Machine", (machine,), changes))
    return None if violation is None else violation.kind


def promises_kept(machine: type[QueueMachine], *, level: Level, examples: int) -> tuple[int, int]:
    """How often a cluster at rest was checked, and how many messages had been delivered, while nothing was found."""
    checked: list[int] = []
    delivered: list[Fate] = []

    class Watched(machine):  # type: ignore[misc, valid-type]
        def teardown(self) -> None:
            super().teardown()
            checked.append(self.rests_checked)
            delivered.extend(fate for fate in self.lab.ledger.fates.values() if fate.delivered)

    Watched.level = level
    nothing_found(Watched, examples=examples)
    return sum(checked), len(delivered)


def nothing_found(machine: type[RuleBasedStateMachine], *, examples: int) -> None:
    """Raises ``AssertionError`` with the story of what a search finds."""
    violation = search(machine, examples=examples * THOROUGH)
    assert violation is None, str(violation)
