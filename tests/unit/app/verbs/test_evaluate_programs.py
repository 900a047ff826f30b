"""Goal: an evaluation of programs that was interrupted ends as every other study does. Method: a planted answer."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.analysis.planted_rollouts import ROLLOUTS

from zonelab.app.verbs.evaluate_programs import ProgramEvaluationResult
from zonelab.scenarios.arms import ZoneKind
from zonelab.studies.evaluate.program_evaluation import ProgramAnswer
from zonelab.studies.reporting.footer import INTERRUPTED


def test_the_last_lines_say_whether_it_was_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    rollout = ROLLOUTS["the cheapest does"]
    measured, found = rollout.measured(1), rollout.decided(seed=1)
    done = ProgramAnswer(measured=measured, found=found, not_judged=(), runs={}, left_out=(), complete=True)
    repeat = "Repeat or continue with: zonelab evaluate"
    for answer, last in (
        (done, ["here", repeat]),
        (replace(done, complete=False), ["here", INTERRUPTED, repeat]),
        (replace(done, complete=False, failure="no servers"), ["here", repeat]),
    ):
        result = ProgramEvaluationResult(
            answer=answer, on=ZoneKind.PROCESS, directory=Path("here"), command="zonelab evaluate"
        )
        result.print()
        said = capsys.readouterr().out.splitlines()
        assert said[-len(last) :] == last
        assert sum("Interrupted" in line for line in said) == last.count(INTERRUPTED)
