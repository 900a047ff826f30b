"""Goal: the examples in docs/properties.md work as they stand. Method: they are cut out of the page and run."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from support.app.commands import zonelab_here

from zonelab.studies.properties import Violation

PAGE = (Path(__file__).parents[2] / "docs" / "properties.md").read_text(encoding="utf-8")
HUNTED, SERVICE, QUEUE, SIMULATED, DRAWN = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
STORY = re.findall(r"(?:^ {4}.*\n)*^ {4}m0 is stuck.*\n(?:^ {4}.*\n)*", PAGE, re.MULTILINE)[0].splitlines()

pytest_plugins = "pytester"


def run(machine, *, max_examples=300, **changes):
    seed(1)(machine)
    options = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
    run_state_machine_as_test(
        machine, settings=settings(**options, max_examples=max_examples, report_multiple_bugs=False, **changes)
    )


def without_times(line):
    return re.sub(r"\d+\.\d+ ms|until \d+", "", line).strip()


def machine_of(source):
    names = {}
    exec(source, names)
    return names["ListQueueMachine"]


def hunted(folder):
    words = ("--queue", "plain_queue:PlainQueueUnderTest", "--messages", "60", "--json")
    done = zonelab_here("hunt", "steady", "--runs", "10", *words, cwd=folder)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)


def test_a_hunt_finds_what_the_page_says_of_the_first_example(tmp_path):
    file = tmp_path / "plain_queue.py"
    file.write_text(HUNTED)
    found = hunted(tmp_path)["groups"]["lost"]["counterexample"]
    assert json.loads(zonelab_here("replay", found, "--json", cwd=tmp_path).stdout)["same"] is True
    story = (tmp_path / found).with_name("story.md")
    zonelab_here("shrink", found, "--class", "lost", "--runs-max", "5", cwd=tmp_path)
    assert " ZREM jobs " in story.read_text()
    programs = [json.loads(run.read_text())["program"] for run in tmp_path.glob("runs/steady/*/run.json")]
    file.write_text(HUNTED + "# changed\n")
    zonelab_here("replay", found, cwd=tmp_path)
    programs += [json.loads(run.read_text())["program"] for run in tmp_path.glob("runs/steady/*/run.json")]
    assert len(set(programs)) == 2
    assert hunted(tmp_path)["known"] == 0


def test_the_example_of_a_service_runs_beside_the_first_example_on_one_redis(tmp_path):
    (tmp_path / "reaped_queue.py").write_text(HUNTED + SERVICE)
    words = ("--queue", "reaped_queue:ReapedQueueUnderTest", "--runs", "2", "--messages", "20", "--json")
    (one_redis,) = re.search(r"--set '(topology[^']+)'", PAGE).groups()
    done = zonelab_here("hunt", "consumer-crash", *words, "--set", one_redis, cwd=tmp_path)
    assert json.loads(done.stdout)["broken"] == {}, done.stderr


def test_the_example_of_a_queue_is_short_and_passes():
    lines = QUEUE[QUEUE.index("class ListQueue:") :].split("class ListQueueMachine")[0].splitlines()
    assert len([line for line in lines if line.strip()]) <= 20
    run(machine_of(QUEUE), stateful_step_count=30, phases=[Phase.generate], max_examples=30)


def test_a_failure_of_the_state_machine_leaves_a_file_that_fails_again_in_the_same_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = QUEUE.replace("'LMOVE', 'ready', 'taken', 'LEFT', 'RIGHT'", "'LPOP', 'ready'")
    file = tmp_path / "test_list_queue.py"
    file.write_text(wrong.replace("    zones,", "    shrink_s = 0\n    zones,"))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Violation) as found:
        import_module("test_list_queue").TestListQueue("runTest").runTest()
    told = found.value.__notes__[-1]
    assert re.search(r"seed \d+, level DC_QUORUM, steps 30, examples 100, zonelab \S+, hypothesis \S+; again: ", told)
    again = told.partition("again: zonelab ")[2].split()
    done = zonelab_here(*again, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert str(found.value) in done.stdout
    assert done.stdout.endswith("The same failure.\n")
    file.write_text(QUEUE)
    assert "not fail any more" in zonelab_here(*again, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("'LMOVE', 'ready', 'taken', 'LEFT', 'RIGHT'", "'LPOP', 'ready'"),
        ("== 0 then", "< 2 then"),
        ("redis.call('LREM', 'taken', 1, id) ", ""),
    ],
    ids=["takes without a trace", "gives back what is at work", "gives back and keeps"],
)
def test_the_example_with_a_mistake_in_it_fails(right, wrong):
    assert QUEUE.count(right) == 1
    with pytest.raises(Violation):
        run(machine_of(QUEUE.replace(right, wrong)), phases=[Phase.generate])


def test_the_story_on_the_page_is_what_hypothesis_comes_down_to():
    wrong = QUEUE.replace("'LMOVE', 'ready', 'taken', 'LEFT', 'RIGHT'", "'LPOP', 'ready'")
    with pytest.raises(Violation) as told:
        run(machine_of(wrong), stateful_step_count=8, phases=[Phase.generate, Phase.shrink])
    # How small it gets depends a little on the machine: Hypothesis draws from the constants of the modules it can see.
    shortest = str(told.value).splitlines()[: len(STORY)]
    assert [without_times(line) for line in shortest] == [without_times(line) for line in STORY]


def test_the_other_examples_pass_under_pytest(pytester):
    pytester.makepyfile(test_simulated=SIMULATED, test_drawn=DRAWN)
    pytester.runpytest_inprocess().assert_outcomes(passed=2)


def test_without_its_sleep_the_example_fails_as_the_page_says(pytester):
    sleep = "    await testbed.runtime.sleep(1_000_000_000)\n"
    assert SIMULATED.count(sleep) == 1
    pytester.makepyfile(SIMULATED.replace(sleep, ""))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    failure = re.search(r"zonelab: seed .* virtual time", result.stdout.str())[0]
    assert failure in PAGE
