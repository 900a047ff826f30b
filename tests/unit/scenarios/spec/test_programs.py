"""Goal: the section of programs is read as written, and each mistake in it is one line with path, value and what fits.

Method: one good scenario, changed in one place per case; the whole line is compared.
"""

from pathlib import Path

import pytest

from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.guests.guest import guest_names
from zonelab.scenarios.spec.programs import filled
from zonelab.scenarios.spec.reading import dump_scenario, load_scenario

GOOD = """
name: own
load: {duration_s: 10}
programs:
  push: {command: "node push.js --url '{url} x'", ends: true, zone: a}
  work: {command: [work, "{url}", "{events}"], count: 2, env: {SEED: "{seed}"}, ready: "^ready"}
faults:
  - {kind: kill, at_s: 2, for_s: 3, zone: b}
"""

REFUSED = {
    "programs.work.command=node {ulr}": (
        "programs.work.command[1]: got '{ulr}' in '{ulr}'; accepted: "
        "{url}, {host}, {port}, {zone}, {index}, {seed}, {events}, {home}, {python}"
    ),
    "programs.work.guest=rqq": (
        "programs.work: got guest 'rqq' (did you mean rq?); accepted: "
        + ", ".join(guest_names())
        + ", or a folder with guest.yaml: ./own"
    ),
    "programs.work.role=worker": "programs.work: role: got 'worker' without guest; accepted: beside guest: NAME",
    "programs.work={guest: rq, role: worker, version: a==1}": (
        "programs.work.version: got 'a==1'; accepted: 1 to 64 letters, digits, '.', '+', '_' and '-', such as 2.11.0"
    ),
    "programs.work={guest: rq, role: boss}": "programs.work: role: got 'boss'; accepted: producer, worker",
    "programs.work={guest: rq}": "programs.work.command: missing; it has no default",
    "programs.work.command=x {home}": "programs.work: got '{home}' without guest; accepted: beside guest: NAME",
    "programs.work.command=": "programs.work.command: got None; accepted: a list",
    "programs.work.command=[]": (
        "programs.work.command: got no words; accepted: a command, as text or as a list of words"
    ),
    'programs.work.command="node \'x"': (
        'programs.work.command: got "node \'x", with no closing quotation; accepted: words as a shell splits them'
    ),
    "programs.work.zone=d": "programs.work.zone: got 'd'; accepted: all, or a zone of the topology (a, b, c)",
    "programs.work.count=0": "programs.work.count: got 0; accepted: greater than or equal to 1",
    "programs.work.count=80": "programs: got '241 processes'; accepted: at most 200",
    "programs.work.ready=(": (
        "programs.work.ready.line: got '('; accepted: a regular expression: "
        "missing ), unterminated subpattern at position 0"
    ),
    "programs.Work={command: x}": (
        "programs.Work: got 'Work'; accepted: 1 to 31 of a-z, 0-9 and -, first a letter, last no -"
    ),
    "queue={engine: gmq}": "queue: is not accepted beside programs, which take its place",
    "consumers.per_zone=3": "consumers: is not accepted beside programs, which take its place",
    "load.rate_per_s=3": "load.rate_per_s: is not accepted beside programs, which push what they will",
    "topology={data_centres: {one: {a: 2}}}": (
        "topology.data_centres: programs need one data centre with one server a zone"
    ),
    "faults[0]={kind: consumer_crash, at_s: 1, for_s: 1, zone: b}": (
        "faults[0].kind: got 'consumer_crash'; accepted: beside programs kill, wipe, pause, slow, memory, disk_full, "
        "lag, loss, duplicate, cut, clog, swizzle_clog, flap, program_kill, coordinator_crash"
    ),
    "drain={bound_s: 2}": "drain.bound_s: got 2.0; accepted: more than drain.quiet_s (3)",
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "own.yaml"
    path.write_text(GOOD)
    return str(path)


@pytest.mark.parametrize("change", REFUSED)
def test_a_mistake_is_one_line(file: str, change: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load_scenario(file, overrides=[change])
    assert refused.value.lines == (f"--set: {REFUSED[change]}",)


def test_a_text_that_begins_with_a_brace_is_told_how_it_is_quoted(file: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load_scenario(file, overrides=["programs.work.env.W={zone}-{index}"])
    (line,) = refused.value.lines
    quoted = 'programs.work.env.W="{zone}-{index}"'
    assert line.endswith(f"; accepted for a text with braces: '{quoted}'")
    assert load_scenario(file, overrides=[quoted]).programs["work"].env["W"] == "{zone}-{index}"


def test_programs_cannot_be_simulated_whoever_asked_for_it(file: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load_scenario(file, overrides=["arm=sim"])
    told = "programs: cannot be simulated: they run beside real servers (--on process, if the verb has it)"
    assert refused.value.lines == (f"{file}: {told}",)


def test_a_command_is_split_as_a_shell_would_before_places_are_filled(file: str, tmp_path: Path) -> None:
    scenario = load_scenario(file)
    push = scenario.programs["push"]
    assert push.command == ("node", "push.js", "--url", "{url} x")
    assert filled(push.command[-1], {"url": "redis://h:1"}) == "redis://h:1 x"
    assert scenario.programs["work"].zones(scenario.zones) == ("a", "b", "c")
    again = tmp_path / "again.yaml"
    again.write_text(dump_scenario(scenario))
    assert load_scenario(str(again)) == scenario


def test_braces_that_are_no_places_stay() -> None:
    assert filled('{"a": {url}} {B} ${x1}', {"url": "u"}) == '{"a": u} {B} ${x1}'


def test_a_guest_gives_what_its_program_does_not_say(file: str, tmp_path: Path) -> None:
    scenario = load_scenario(file, overrides=["programs.work={guest: rq, role: worker, count: 2, env: {WORK_MS: 7}}"])
    work = scenario.programs["work"]
    assert (work.command[-1], work.count, work.env, work.version) == ("{url}", 2, {"WORK_MS": "7"}, "3.0.0")
    assert work.ready is not None
    again = tmp_path / "again.yaml"
    again.write_text(dump_scenario(scenario))
    assert load_scenario(str(again)) == scenario
    own = load_scenario(file, overrides=["programs.work={guest: rq, version: 2.11.0, command: '{python} x.py'}"])
    assert own.programs["work"].command == ("{python}", "x.py")
    assert own.programs["work"].version == "2.11.0"
