"""Goal: the lens shows where each zone had a message, all the time, and watching changes nothing of the run.

Method: short runs with faults of every engine; what strips say at the end beside what the run read from its zones, for
every message; and runs of which nothing can be known but their history.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.app.commands import zonelab_here
from support.scenarios.sim_runs import small

from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.stories.message_stories import at_rest
from zonelab.analysis.summary.run_summary import load_verdict
from zonelab.cluster.sim.server import SimServer
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.queues.places import places_of
from zonelab.scenarios.run.command_log import CommandLog, touches
from zonelab.scenarios.run.naming import MessageNaming
from zonelab.scenarios.run.simulated import NullWatcher, run_in_sim
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.stories.again import MESSAGES_MAX, ON_REAL_SERVERS
from zonelab.studies.stories.lens import lens
from zonelab.studies.stories.zone_strips import ABSENT, DOWN, GONE, ZoneStrips

FAULTS = [
    {"kind": "kill", "zone": "b", "at_s": 0.3, "for_s": 0.3},
    {"kind": "cut", "isolate": "c", "at_s": 0.7, "for_s": 0.2},
    {"kind": "wipe", "zone": "a", "at_s": 0.9, "for_s": 0.05},
]
ENGINES = [
    {"engine": "dyno"},
    {"engine": "dyno", "mode": "hardened"},
    {"engine": "dyno-v2"},
    {"engine": "gmq"},
    {"engine": "youzan"},
    {"engine": "zset"},
]
STATES = {"queue": "waiting", "unack": "leased", "dead": "dead letter"}


def broken(**queue: Any) -> Scenario:
    return small(queue=queue, faults=FAULTS, level="DC_QUORUM", seed=3)


def made(scenario: Scenario, folder: Path) -> RunDirectory:
    path, _ = run_in_sim(scenario, runs=folder, watcher=NullWatcher(), command="zonelab run")
    return RunDirectory.open(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return made(broken(engine="dyno"), tmp_path_factory.mktemp("runs"))


def wrong_ends(scenario: Scenario) -> list[str]:
    """Where strips and the end state of the run differ, over all messages; and whether the run was another one."""
    plain = attempt(scenario)
    ids = {row["message_id"] for batch in plain.recorded.operations(("message_id",)) for row in batch.to_pylist()}
    strips = [ZoneStrips(one, places_of(scenario.queue, scenario.zones)) for one in sorted(filter(None, ids))]

    def observe(cluster):
        for one in strips:
            one.watch(cluster)
        return cluster

    watched = attempt(scenario, observe=observe)
    assert watched.run.trace_hash == plain.run.trace_hash
    rows = [row for batch in watched.recorded.final_state() for row in batch.to_pylist()]
    held = at_rest([{**row, "shard": None} for row in rows])
    end_ns = max(end for _, end in watched.run.record.phases.values())
    found = []
    for name, one in zip(sorted(filter(None, ids)), strips, strict=True):
        for zone, spans in one.spans(end_ns=end_ns).items():
            assert all(before.end_ns == after.begin_ns for before, after in pairwise(spans))
            state, holds = spans[-1].state, set(held.get((name, zone), []))
            words = {STATES[place] for place in holds & STATES.keys()}
            seen = set() if state in (ABSENT, GONE, DOWN, "payload only") else set(state.split(",")[0].split(" and "))
            if words != seen or (bool(holds) is (state in (ABSENT, GONE))):
                found.append(f"{name} in {zone}: {state}, but it holds {holds}")
    assert strips
    return found


@pytest.mark.parametrize("queue", ENGINES, ids=lambda queue: " ".join(queue.values()))
def test_strips_end_as_the_zones_do_and_watching_changes_nothing(queue: dict[str, Any]) -> None:
    assert wrong_ends(broken(**queue)) == []


def test_a_server_that_tells_of_no_change_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimServer, "listen", lambda self, keys, changed: lambda: None)
    assert wrong_ends(broken(engine="dyno"))


def test_a_message_has_its_strips_votes_lease_and_what_is_wrong_with_it(run: RunDirectory) -> None:
    whole = [row for batch in run.operations() for row in batch.to_pylist()]
    delivered = next(row for row in whole if row["f"] == "ack" and row["type"] == "ok")
    found = lens(run, delivered["message_id"])
    assert found.unknown == ""
    assert set(found.strips) == {"a", "b", "c"}
    states = [span.state for span in found.strips[delivered["zone"]]]
    assert [one for one in states if one in ("waiting", "leased", GONE)][:1] == ["waiting"]
    assert "leased" in states
    assert any(lease.acked and lease.holder == delivered["process"] for lease in found.leases)
    assert [line.time_ns for line in found.lines] == sorted(line.time_ns for line in found.lines)
    words = [line.what for line in found.lines]
    assert any(one.lstrip().startswith("ZADD zonelab.QUEUE") for one in words)
    assert any(" to ZADD: 1" in one for one in words)
    assert "payload only → waiting" in words


def test_votes_of_zones_with_several_servers_name_the_servers(tmp_path: Path) -> None:
    topology = {"data_centres": {"dc": {"a": 2, "b": 2, "c": 2}}}
    run = made(small(topology=topology, queue={"engine": "dyno"}, level="DC_QUORUM", seed=3), tmp_path)
    rows = [row for batch in run.operations() for row in batch.to_pylist()]
    found = lens(run, next(row["message_id"] for row in rows if row["f"] == "ack" and row["type"] == "ok"))
    assert found.unknown == ""
    answers = [line.what.strip() for line in found.lines if " to ZADD: 1" in line.what]
    servers = {name for one in answers for name in one.split(" to ")[0].split(", ")}
    assert servers in ({"a", "b", "c"}, {"a2", "b2", "c2"}, {"a", "b", "c", "a2", "b2", "c2"})


def test_a_log_of_one_message_has_its_commands_and_forgets_the_others() -> None:
    scenario = broken(engine="dyno")
    everything, naming = CommandLog(), MessageNaming("a-000003")
    attempt(scenario, observe=everything.testbed)
    chosen = CommandLog([naming])
    attempt(scenario, observe=chosen.testbed)
    assert chosen.commands == [one for one in everything.commands if touches(one, [naming])]
    assert 5 < len(chosen.commands) < len(everything.commands) / 4


def test_a_run_that_cannot_be_made_again_as_it_was_shows_its_history_and_says_why(tmp_path: Path) -> None:
    run = made(broken(engine="dyno"), tmp_path)
    path = run.path / "scenario.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("seed: 3", "seed: 4"), encoding="utf-8")
    changed = lens(run, "a-000000")
    assert changed.unknown.startswith("made again it is another run (trace hash ")
    assert changed.strips == {}
    assert [line.who for line in changed.lines][:1] == ["producer-a"]
    path.write_text("queue: 1\n", encoding="utf-8")
    assert lens(run, "a-000000").unknown.startswith("the run cannot be made again: ")


def test_of_a_run_on_real_servers_it_shows_what_clients_saw(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path / "run")
    builder.push("m", at_ms=10)
    first = builder.pop("m", at_ms=20, lease_end_ms=400)
    builder.ack("m", first, at_ms=100, took_ms=4)
    builder.pop("m", at_ms=500, lease_end_ms=900)
    found = lens(RunDirectory.open(builder.write(arm="real")), "m")
    assert (found.unknown, found.strips) == (ON_REAL_SERVERS, {})
    assert [(one.begin_ns // 10**6, one.end_ns // 10**6, one.acked) for one in found.leases] == [
        (21, 104, True),
        (501, 900, False),
    ]
    assert [name for name, _ in found.cases] == ["resurrected"]
    assert [line.what for line in found.lines if line.telling] == ["pop: gets it, delivery 3; lease until 0.900 s"]


def test_a_large_run_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: RunDirectory) -> None:
    monkeypatch.setattr("zonelab.studies.stories.again.MESSAGES_MAX", 3)
    assert lens(run, "a-000000").unknown == f"the run has {load_verdict(run).begun} messages; it is made again up to 3"
    assert MESSAGES_MAX == 20_000


def test_a_message_that_the_run_has_not_is_refused_with_the_nearest(run: RunDirectory) -> None:
    with pytest.raises(
        NotAccepted, match=r"has no message 'a-00002' \(did you mean a-0000\d\d\?\); it has \d+ messages"
    ):
        lens(run, "a-00002")


def test_the_verb_prints_writes_json_and_a_page(run: RunDirectory, tmp_path: Path) -> None:
    done = zonelab_here("lens", str(run.path), "a-000000", cwd=tmp_path)
    assert done.returncode == 0
    assert "a-000000 in small at DC_QUORUM, dyno, seed 3" in done.stdout
    assert "payload only → waiting" in done.stdout
    told = json.loads(zonelab_here("lens", str(run.path), "a-000000", "--json", cwd=tmp_path).stdout)
    assert {span["state"] for span in told["strips"]["a"]} >= {"waiting", "leased"}
    page = Path(told["page"]).read_text(encoding="utf-8")
    assert page.count("<tr") == len(told["steps"]) + 1
    assert "zone a" in page
    none = zonelab_here("lens", str(run.path), "nobody", cwd=tmp_path)
    assert (none.returncode, none.stderr.count("\n")) == (64, 1)
