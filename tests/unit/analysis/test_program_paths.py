"""Goal: a story has the commands around the death of a program, and those that name the message, and no others.

Method: a made-up run of two processes, one of which was hit at a command, with and without a record of commands.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from zonelab.analysis.runs.program_commands import SentByProgram
from zonelab.analysis.stories.program_paths import program_lines

SENT = {
    "w-a-0": [
        (10, "w-a-0", "p1", "ZREM due job-3"),
        (11, "w-a-0", "p2", "PING"),
        (12, "w-a-0", "p1", "RPUSH waiting job-3"),
        (20, "w-a-0", "p1", "INCR worked"),
        (30, "w-a-0", "p1", "ZREM due job-12"),
    ],
    "w-a-1": [(15, "w-a-1", "p3", "GET job-1"), (40, "w-a-1", "p3", "GET job-12")],
}
STRIKE = {
    "signal": "SIGKILL",
    "hit": True,
    "when": "applied",
    "command": "ZREM due job-12",
    "earlier": ["A", "B", "C", "INCR worked"],
    "earlier_ns": [16, 17, 18, 20],
    "time_ns": 35,
}
PUSHED = [{"time_ns": 5, "process": "p-a-0", "f": "push", "type": "ok"}]
BEGUN = [*PUSHED, {"time_ns": 25, "process": "w-a-0.2", "f": "pop", "type": "ok"}]


def told(rows: list[dict[str, Any]], strike: dict[str, Any], *, sent: dict[str, Any] | None = None) -> list[str]:
    run = made_up(strike, SENT if sent is None else sent)
    return [f"{line.who} {line.what}" for line in program_lines(run, "job-12", rows)]


def made_up(strike: dict[str, Any], sent: dict[str, Any]) -> Any:
    return SimpleNamespace(
        info=SimpleNamespace(programs={"w-a-0": {"strikes": [strike]}, "w-a-1": {"strikes": []}}),
        program_commands=lambda name: [SentByProgram(*one) for one in sent.get(name, ())],
    )


@pytest.mark.parametrize("rows", [PUSHED, BEGUN])
def test_the_commands_between_which_a_program_died_are_told_once(rows: list[dict[str, Any]]) -> None:
    assert told(rows, STRIKE) == [
        "w-a-1   GET job-12",
        "w-a-0   B",
        "w-a-0   C",
        "w-a-0   INCR worked",
        "w-a-0 is killed when every zone has applied this command, without its answer: ZREM due job-12",
        "w-a-0 after such a command it sends, as before: RPUSH waiting job-3",
    ]


def test_before_its_command_a_program_is_between_that_and_the_one_in_front_of_it() -> None:
    lines = told(PUSHED, {**STRIKE, "when": "before", "signal": "SIGSTOP"}, sent={})
    assert lines[-2:] == [
        "w-a-0   INCR worked",
        "w-a-0 is stopped before this command, which no zone gets: ZREM due job-12",
    ]


@pytest.mark.parametrize(
    ("rows", "strike"),
    [
        (PUSHED, {**STRIKE, "time_ns": 4}),
        (PUSHED, {"signal": "SIGKILL", "hit": False}),
        ([*PUSHED, {"time_ns": 25, "process": "w-a-1", "f": "pop", "type": "ok"}], STRIKE),
    ],
)
def test_a_strike_before_the_message_or_at_another_program_is_not_told(
    rows: list[dict[str, Any]], strike: dict[str, Any]
) -> None:
    assert told(rows, strike, sent={}) == []


def test_commands_before_a_strike_have_their_own_times() -> None:
    lines = program_lines(made_up(STRIKE, SENT), "job-12", PUSHED)
    assert [(line.time_ns, line.what.strip()) for line in lines][1:4] == [(17, "B"), (18, "C"), (20, "INCR worked")]
    untimed = {name: value for name, value in STRIKE.items() if name != "earlier_ns"}
    assert {line.time_ns for line in program_lines(made_up(untimed, {}), "job-12", PUSHED)} == {STRIKE["time_ns"]}
    assert told(PUSHED, untimed, sent={}) == told(PUSHED, STRIKE, sent={})[-1:], "what nobody timed is not shown"


def test_what_was_started_again_has_the_name_of_its_events() -> None:
    again = {
        "w-a-0": [*SENT["w-a-0"][:-1], (38, "w-a-0.2", "p4", "GET job-12"), (39, "w-a-0.2", "p4", "ZREM due job-12")]
    }
    lines = told(BEGUN, {**STRIKE, "program": "w-a-0.2", "when": "before", "time_ns": 40}, sent=again)
    assert {line.split()[0] for line in lines} == {"w-a-0.2"}
    assert [line for line in lines if line.endswith("job-12")] == [
        "w-a-0.2   GET job-12",
        "w-a-0.2 is killed before this command, which no zone gets: ZREM due job-12",
    ]


def test_a_long_path_loses_its_middle() -> None:
    many = {"w-a-0": [(number, "w-a-0", "p", f"SET job-12 {number}") for number in range(100)]}
    lines = told(PUSHED, {"hit": False}, sent=many)
    assert len(lines) == 20
    assert (lines[9], lines[10]) == ("w-a-0   SET job-12 9", "w-a-0   SET job-12 90")
