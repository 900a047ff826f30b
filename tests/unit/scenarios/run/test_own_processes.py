"""Goal: SimPy processes of the user's own push and work beside the engines, and are refused where they cannot.

Method: the module that docs/simulation.md shows, and others that do what they must not.
"""

import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from support.scenarios.sim_runs import SMALL, run_in_memory, small

from zonelab.analysis.runs.history import OPERATIONS
from zonelab.app.verbs.evaluate import Confirm
from zonelab.cluster.random_streams import Streams
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, rows
from zonelab.scenarios.spec.push_plan import plan_pushes
from zonelab.studies.evaluate.rollout import Rollout

(BAKERY,) = re.findall(r"^```python\n(def orders.*?)^```", Path("docs/simulation.md").read_text(), re.DOTALL | re.M)
OTHERS = """
def waits(lab):
    while True:
        confirmed = yield lab.push(2, delay_ms=0, priority=3)
        yield lab.sleep(50 if confirmed else 500)


def one_at_a_time(lab, message_id):
    with lab.shared("oven").request() as oven:
        yield oven
        yield lab.sleep(10)


def each_its_own(lab, message_id):
    with lab.shared(f"oven of {message_id}").request() as oven:
        yield oven
        yield lab.sleep(10)


def asks(lab):
    with lab.shared("ovens").request() as oven:
        yield oven
        lab.push()


def raises(lab):
    yield lab.env.timeout(0.5)


def no_process(lab):
    lab.push()
"""


@pytest.fixture(autouse=True)
def bakery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "bakery.py").write_text(BAKERY + OTHERS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("bakery", None)


def baking(arrivals: str, **changes):
    return small(load={"rate_per_s": 0, "duration_s": 5, "arrivals": f"python:bakery:{arrivals}"}, **changes)


def rows_of(tables) -> list:
    return [row for row in rows(tables, OPERATIONS_NAME, OPERATIONS.names) if row["type"] != "invoke"]


def test_arrivals_in_a_run_are_those_that_are_drawn_beforehand():
    scenario = baking("orders")
    done, tables, verdict = run_in_memory(scenario)
    begin_ns, _ = done.record.phases["load"]
    pushed = {row["message_id"]: row["intended_ns"] - begin_ns for row in rows_of(tables) if row["f"] == "push"}
    drawn = {
        message.id: planned.offset_ns
        for zone in scenario.zones
        for planned in plan_pushes(scenario.load, zone=zone, random=Streams(scenario.seed).stream)
        for message in planned.messages
    }
    assert len(pushed) > 20
    assert pushed == drawn
    assert verdict.valid is True


@pytest.mark.parametrize(("work", "alone"), [("one_at_a_time", True), ("each_its_own", False)])
def test_all_consumers_share_what_has_one_name(work: str, alone: bool):
    _, tables, _ = run_in_memory(baking("orders", consumers={"per_zone": 4, "work": f"python:bakery:{work}"}))
    acked_ns = sorted(row["invoke_ns"] for row in rows_of(tables) if row["f"] == "ack")
    assert len(acked_ns) > 20
    assert alone == (min(later - one for one, later in pairwise(acked_ns)) >= 10_000_000)


def test_a_process_may_wait_for_its_push_and_say_what_it_pushes():
    _, tables, _ = run_in_memory(baking("waits"))
    of_a = sorted(
        {(row["invoke_ns"], row["time_ns"]) for row in rows_of(tables) if (row["f"], row["zone"]) == ("push", "a")}
    )
    assert len(of_a) > 20
    assert all(later - ended == 50_000_000 for (_, ended), (later, _) in pairwise(of_a))
    assert {row["priority"] for row in rows_of(tables) if row["f"] == "pop" and row["message_id"]} == {3}


def test_a_process_that_raises_ends_the_run_in_one_line():
    done, _, _ = run_in_memory(baking("raises"))
    assert done.record.status == "failed"
    assert "load.arrivals bakery:raises: ValueError: a delay must be whole nanoseconds, got 0.5" in done.record.error


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"load": {"arrivals": "python:bakery:waits"}},
            "does not react to the run; this one asks for the end of a push",
        ),
        ({"load": {"arrivals": "python:bakery:asks"}}, "this one asks for the shared resource 'ovens'"),
        ({"load": {"arrivals": "python:bakery:no_process"}}, "no generator function; accepted: one that yields events"),
        ({"load": {"arrivals": "bakery:orders"}}, "accepted: python:MODULE:FUNCTION"),
        ({"load": {"rate_per_s": 1, "arrivals": "python:bakery:orders"}}, "nothing beside load.rate_per_s"),
        (
            {"consumers": {"work": "python:bakery:bake"}},
            "consumers.work: got 'python:bakery:bake'; accepted: nothing on",
        ),
    ],
)
def test_what_real_servers_cannot_play_is_refused(changes, told: str, tmp_path: Path):
    load = {"rate_per_s": 0, **changes.pop("load", {})}
    with pytest.raises(ScenarioError, match=re.escape(told)):
        small(arm="real", load=load, **changes)


def test_an_evaluation_refuses_to_confirm_what_real_servers_cannot_play(tmp_path: Path):
    load = {"duration_s": 4, "arrivals": "python:bakery:waits"}
    rollout = {**SMALL, "load": load, "evaluate": {"objectives": ["losses == 0"]}}
    (tmp_path / "rollout.yaml").write_text(yaml.safe_dump(rollout))
    loaded = Rollout.load(str(tmp_path / "rollout.yaml"))
    with pytest.raises(ScenarioError, match=r"--confirm: load.arrivals: .* asks for the end of a push"):
        Confirm(on=ZoneKind.PROCESS, repeats=2).check(loaded)
