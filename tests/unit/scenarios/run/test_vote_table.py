"""Goal: recorded votes are read as they were sent and answered, within a bound that the table says it has reached.

Method: simulated runs that write the table of a real one, beside a command log of the same run.
"""

from pathlib import Path

from support.scenarios.sim_runs import small

from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.segments import table_in
from zonelab.analysis.runs.votes import VOTES, VOTES_NAME
from zonelab.scenarios.run.command_log import CommandLog, LoggedTestbed, SentCommand
from zonelab.scenarios.run.naming import MessageNaming
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.run.vote_table import COMMANDS_MAX, VoteRecorder, has_votes, recorded_votes

SCENARIO = small(seed=2, faults=[{"kind": "kill", "zone": "b", "at_s": 0.3, "for_s": 0.3}])


def recorded(folder: Path, *, commands_max: int = COMMANDS_MAX) -> RunDirectory:
    """A run whose table is that of ``SCENARIO``."""
    path = RunBuilder(folder / "run").write(arm="real")
    recorder = VoteRecorder(table_in(path, VOTES_NAME, VOTES), commands_max=commands_max)
    attempt(SCENARIO, observe=lambda cluster: LoggedTestbed(cluster, recorder))
    recorder.close()
    return RunDirectory.open(path)


def shape(sent: SentCommand) -> tuple[object, ...]:
    words = tuple(word if isinstance(word, bytes) else str(word).encode() for word in sent.command)
    answers = {
        zone: answer and (answer.time_ns, str(answer.reply), getattr(answer.reply, "maybe_applied", None))
        for zone, answer in sent.answers.items()
    }
    return sent.time_ns, sent.program, sent.zone, words, answers


def looks(sent: SentCommand) -> bool:
    """Return whether no zone found anything."""
    return all(answer is not None and answer.reply == [] for answer in sent.answers.values())


def test_what_is_recorded_is_what_a_log_of_the_same_run_has(tmp_path: Path) -> None:
    log = CommandLog()
    attempt(SCENARIO, observe=log.testbed)
    run = recorded(tmp_path)
    found, until_ns = recorded_votes(run)
    assert until_ns is None
    assert sorted(map(repr, map(shape, found))) == sorted(repr(shape(one)) for one in log.commands if not looks(one))
    assert any("may" in repr(one) or "refused" in repr(one) for one in found)
    named, _ = recorded_votes(run, [MessageNaming("a-000000")])
    assert 3 < len(named) < len(found)
    whole = CommandLog([MessageNaming("a-000000")])
    attempt(SCENARIO, observe=whole.testbed)
    assert list(map(shape, named)) == [shape(one) for one in whole.commands]


def test_a_longer_run_is_recorded_up_to_the_bound_and_says_until_when(tmp_path: Path) -> None:
    found, until_ns = recorded_votes(recorded(tmp_path, commands_max=50))
    assert until_ns is not None
    assert 50 <= len(found) < 60
    assert all(one.time_ns < until_ns for one in found)
    assert recorded_votes(recorded(tmp_path / "named", commands_max=50), [MessageNaming("a-000000")])[1] == until_ns


def test_a_run_without_the_table_has_recorded_none(tmp_path: Path) -> None:
    assert not has_votes(RunDirectory.open(RunBuilder(tmp_path / "run").write(arm="real")))
