"""Goal: a bad scenario is refused with one line per error that names file, path, value and what is accepted.

Method: one good scenario, changed in one place per case; the whole line is compared.
"""

from pathlib import Path

import pytest
import yaml

from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.faults.catalogue import CLASSES
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.library import library_names
from zonelab.scenarios.spec.reading import dump_scenario, load_scenario

GOOD = """
name: small
load: {duration_s: 10, rate_per_s: 20}
faults:
  - {kind: kill, at_s: 2, for_s: 3, zone: b}
  - {kind: cut, at_s: 2, for_s: 3, isolate: b}
"""

KINDS = ", ".join(CLASSES)
LINKS = "a link of the topology (a>b, a>c, b>a, b>c, c>a, c>b)"

REFUSED = {
    "faults[0].zone=d": "faults[0].zone: got 'd'; accepted: a zone of the topology (a, b, c)",
    "faults[0].kind=explode": f"faults[0].kind: got 'explode'; accepted: {KINDS}",
    "faults[0].at_s=90": "faults[0].at_s: got 90.0; accepted: less than load.duration_s (10)",
    "faults[0].for_s=9": "faults[0].for_s: got 9.0; accepted: at most 8: all heals with the load",
    "faults[0].for_s=0": "faults[0].for_s: got 0; accepted: greater than 0",
    "faults[0].restart=wipe": "faults[0].restart: got 'wipe'; accepted: keep, warm",
    "faults[2]={kind: pause, at_s: 4, for_s: 2, zone: b}": (
        "faults[2].at_s: got pause at 4 s for 2 s; accepted: a time when "
        "faults[0] (kill, 2 to 5 s) does not already hold zone b"
    ),
    "faults[2]={kind: cut, at_s: 4, for_s: 2, one_way: a>b}": (
        "faults[2].at_s: got cut at 4 s for 2 s; accepted: a time when "
        "faults[1] (cut, 2 to 5 s) does not already hold cut of a>b"
    ),
    "faults[2]={kind: consumer_crash, at_s: 4, for_s: 2, zone: b, consumer: 7}": (
        "faults[2].consumer: got 7; accepted: 0..1 or all"
    ),
    "faults[2]={kind: consumer_crash, at_s: 4, for_s: 2, zone: b, consumer: x}": (
        "faults[2].consumer: got 'x'; accepted: a consumer's number, from 0, or all"
    ),
    "faults[2]={kind: lag, at_s: 4, for_s: 2, lag: 0, zone: b, link: a>b}": (
        "faults[2].link: got 'a>b'; accepted: zone or link, not both"
    ),
    "faults[2]={kind: lag, at_s: 4, for_s: 2, lag: 0, link: a>a}": f"faults[2].link: got 'a>a'; accepted: {LINKS}",
    "faults[2]={kind: lag, at_s: 4, for_s: 2, lag: 0, link: ab}": (
        "faults[2].link: got 'ab'; accepted: a link written FROM>TO, e.g. a>b"
    ),
    "faults[2]={at_s: 1}": f"faults[2].kind: missing; accepted: {KINDS}",
    "faults[1].halves=[a, b, c]": "faults[1]: got isolate and halves; accepted: one of isolate, halves, one_way, link",
    "faults[1].isolate=null": "faults[1]: got no target; accepted: one of isolate, halves, one_way, link",
    "faults[1]={kind: cut, at_s: 1, for_s: 1, halves: [a, b, c]}": (
        "faults[1].halves: got ['a', 'b', 'c']; accepted: some zones, but not all"
    ),
    "faults[2]={kind: power_failure, at_s: 6, for_s: 1, zone: b}": (
        "faults[2].kind: got 'power_failure'; accepted: on real servers any other kind; this one needs arm: sim"
    ),
    "faults[2]={kind: slow, at_s: 6, for_s: 1, zone: b, factor: 1}": (
        "faults[2].factor: got 1; accepted: greater than 1"
    ),
    "faults[2]={kind: clock, at_s: 6, for_s: 1, zone: b}": (
        "faults[2]: got neither offset_ms nor drift_ppm; accepted: one of them, or both, other than 0"
    ),
    "faults[2]={kind: clock, at_s: 6, for_s: 1, zone: b, drift_ppm: 900000}": (
        "faults[2].drift_ppm: got 900000; accepted: less than or equal to 500000"
    ),
    "faults[2]={kind: loss, at_s: 6, for_s: 1, share: 1}": "faults[2].share: got 1; accepted: less than 1",
    "faults[2]={kind: duplicate, at_s: 6, for_s: 1, link: a>d}": f"faults[2].link: got 'a>d'; accepted: {LINKS}",
    "faults[2]={kind: clog, at_s: 4, for_s: 1, link: a>b}": (
        "faults[2].at_s: got clog at 4 s for 1 s; accepted: a time when "
        "faults[1] (cut, 2 to 5 s) does not already hold cut of a>b"
    ),
    "faults[2]={kind: swizzle_clog, at_s: 4, for_s: 1, zone: d}": (
        "faults[2].zone: got 'd'; accepted: a zone of the topology (a, b, c)"
    ),
    "faults[2]={kind: coordinator_crash, at_s: 4, for_s: 1, zone: a}": (
        "faults[2].at_s: got coordinator_crash at 4 s for 1 s; accepted: a time when "
        "faults[1] (cut, 2 to 5 s) does not already hold cut of a>b, cut of b>a"
    ),
    "faults[2]={kind: producer_crash, at_s: 6, for_s: 1, zone: b, at_command: 0}": (
        "faults[2].at_command: got 0; accepted: greater than or equal to 1"
    ),
    "faults=3": "faults: got 3; accepted: a list",
    "level=DC_TWO": (
        "level: got 'DC_TWO' (did you mean DC_ONE?); accepted: DC_ONE, DC_QUORUM, DC_SAFE_QUORUM, DC_EACH_SAFE_QUORUM"
    ),
    "seed=-1": "seed: got -1; accepted: greater than or equal to 0",
    "seed=x": "seed: got 'x'; accepted: an integer",
    "name=Bad Name": "name: got 'Bad Name'; accepted: 1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit",
    "topology.zones=[a, b, c, d, e, f, g, h]": (
        "topology.zones: got ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']; accepted: 1 to 7 different zone names"
    ),
    "topology.zones=[a, a]": "topology.zones: got ['a', 'a']; accepted: 1 to 7 different zone names",
    "topology.zones=[]": "topology.zones: got []; accepted: 1 to 7 different zone names",
    "topology.zones=[a, B]": (
        "topology.zones[1]: got 'B'; accepted: a zone name: 1 to 31 of a-z, 0-9 and -, first a letter, last no -"
    ),
    "load.duration_s=abc": "load.duration_s: got 'abc'; accepted: a number",
    "load.duration_s=true": "load.duration_s: got True; accepted: a number",
    "load.duration_s=.inf": "load.duration_s: got inf; accepted: a finite number",
    "load.rate_per_s=-1": (
        "load.rate_per_s: got -1; accepted: a number from 0 to 1000000, "
        "or a mapping from zone to a number from 0 to 1000000, e.g. {a: 50, b: 10}"
    ),
    "load.retries=-1": "load.retries: got -1; accepted: greater than or equal to 0",
    "load.retries=101": "load.retries: got 101; accepted: less than or equal to 100",
    "load.retry_after_ms=-1": "load.retry_after_ms: got -1; accepted: greater than or equal to 0",
    "load.rate_per_s={a: 1, z: 2}": "load.rate_per_s.z: got 'z'; accepted: a zone of the topology (a, b, c)",
    "load.priority.max=100": "load.priority.max: got 100; accepted: less than or equal to 99",
    "load.priority.min=5": "load.priority.min: got 5; accepted: at most load.priority.max (0)",
    "load.payload_bytes=1.5": "load.payload_bytes: got 1.5; accepted: an integer",
    "load.batch=0": "load.batch: got 0; accepted: greater than or equal to 1",
    "load=": "load: got None; accepted: a mapping",
    "links.overrides={q: 0}": "links.overrides.q: got 'q'; accepted: a link written FROM>TO, e.g. a>b",
    "links.overrides[a>z]=0": f"links.overrides['a>z']: got 'a>z'; accepted: {LINKS}",
    "zones=3": (
        "zones: unknown field (did you mean topology.zones?), got 3; accepted fields: name, about, arm, seed, level, "
        "topology, persistence, notify_keyspace_events, replication, links, queue, load, consumers, clients, sink, "
        "workload, programs, "
        "faults, drain, checks, simulation, found, evaluate"
    ),
    "faults[0].foo=1": "faults[0].foo: unknown field, got 1; accepted fields: at_s, for_s, kind, zone, restart",
    "faults[0]={zone: b}": f"faults[0].kind: missing; accepted: {', '.join(CLASSES)}",
    "queue.foo=1": (
        "queue.foo: unknown field, got 1; accepted fields: engine, mode, unack_ms, unack_interval_ms, compat, "
        "factory, sharding, deliveries_max, v1_producers"
    ),
    "load.operations=[{at_ms: 10, zone: a, id: one}]": (
        "load.rate_per_s: got 20.0; accepted: nothing beside load.operations"
    ),
    "load={duration_s: 1, operations: [{at_ms: 10, zone: z, id: one}]}": (
        "load.operations[0].zone: got 'z'; accepted: a zone of the topology (a, b, c)"
    ),
    "load={duration_s: 1, operations: [{at_ms: 1000, zone: a, id: one}]}": (
        "load.operations[0].at_ms: got 1000.0; accepted: less than load.duration_s (1 s)"
    ),
    "load={duration_s: 1, operations: [{at_ms: 1, zone: a, id: one}, {at_ms: 2, zone: a, id: one}]}": (
        "load.operations[1].id: got 'one'; accepted: an id other than that of operations[0]"
    ),
    "load={duration_s: 10}": (
        "load.rate_per_s: missing; it has no default, unless load.operations or load.arrivals is given"
    ),
    "queue={mode: hardened, compat: true}": (
        "queue.compat: got True; accepted: false with queue.mode hardened, which has no such defects"
    ),
    "queue.deliveries_max=2": (
        "queue.deliveries_max: got 2; accepted: nothing unless queue.mode is hardened: the original has no dead letters"
    ),
    "queue.v1_producers=true": (
        "queue.v1_producers: got True; accepted: false unless queue.mode is hardened; or else queue.engine says what "
        "producers are"
    ),
    "queue.engine=v3": f"queue.engine: got 'v3'; accepted: {', '.join(ENGINES)}",
    "queue.engine=dyno-v3": f"queue.engine: got 'dyno-v3' (did you mean dyno-v2?); accepted: {', '.join(ENGINES)}",
    "queue={engine: zset, compat: true}": (
        "queue.compat: got True; accepted: false with queue.engine zset, which is no copy"
    ),
    "queue={engine: youzan, mode: hardened}": (
        "queue.mode: got 'hardened'; accepted: default with queue.engine youzan"
    ),
    "queue={engine: zset, mode: hardened}": ("queue.mode: got 'hardened'; accepted: default with queue.engine zset"),
    "queue.compat=1": "queue.compat: got 1; accepted: a boolean",
    "notify_keyspace_events=KEQ": (
        "notify_keyspace_events: got 'KEQ'; accepted: nothing, or letters of K, E, A, g, $, l, s, h, z, x, e, t, d "
        "and n"
    ),
    "notify_keyspace_events=m": (
        "notify_keyspace_events: got 'm'; accepted: K, E, A, g, $, l, s, h, z, x, e, t, d and n, as misses (m) are not "
        "modelled in simulation"
    ),
    "persistence=foo": "persistence: got 'foo'; accepted: none, aof-always, aof-everysec, aof-no, rdb",
    "checks.forbid=[lost, dropped]": (
        "checks.forbid[1]: got 'dropped'; accepted: lost, stuck, not_due, unserved, abandoned, undecided, recovered, "
        "unexpected, redelivered, concurrent, resurrected, early, late, zombie_ack, overlap, orphan, phantom, "
        "priority_inversion, dead_letter"
    ),
    "about=[1]": "about: got [1]; accepted: a string",
    "consumers.per_zone=1000000000": "consumers.per_zone: got 1000000000; accepted: less than or equal to 10000",
    "workload={kind: register, clients_per_zone: 1e9}": (
        "workload.clients_per_zone: got 1000000000.0; accepted: an integer"
    ),
    "load.rate_per_s=1.0e+308": (
        "load.rate_per_s: got 1e+308; accepted: a number from 0 to 1000000, "
        "or a mapping from zone to a number from 0 to 1000000, e.g. {a: 50, b: 10}"
    ),
    "load={rate_per_s: 1e6, duration_s: 1e4}": (
        "load: got 'about 3e+10 messages'; accepted: rates and a duration for at most 10000000"
    ),
    "load.duration_s=1e10": "load.duration_s: got 10000000000.0; accepted: less than or equal to 1000000000",
    "load.duration_s=12:30": "load.duration_s: got '12:30'; accepted: a number",
    "seed=99999999999999999999": "seed: got 99999999999999999999; accepted: less than or equal to 9223372036854775807",
    "queue.unack_ms=99999999999999999999": (
        "queue.unack_ms: got 99999999999999999999; accepted: less than or equal to 3155760000000"
    ),
    "topology.data_centres={x: {a: 1000000000}}": (
        "topology.data_centres.x.a: got 1000000000; accepted: less than or equal to 32"
    ),
    "drain.bound_s=1": (
        "drain.bound_s: got 1.0; accepted: at least 3.5: one lease and one look for ended leases (2.5 s) "
        "after the longest reconnection (1 s)"
    ),
}

BAD_OVERRIDES = {
    "faults[3].zone=b": "faults is a list, got 3; accepted: an index 0..1",
    "faults[x].zone=b": "faults is a list, got 'x'; accepted: an index 0..1",
    "name.y=1": "name is 'small' and has no 'y'",
    "=3": "accepted: PATH=VALUE, e.g. load.duration_s=5 or faults[0].zone=b",
    "seed": "accepted: PATH=VALUE, e.g. load.duration_s=5 or faults[0].zone=b",
    f"faults[{'9' * 5000}]=1": f"faults is a list, got '{'9' * 5000}'; accepted: an index 0..2",
    f"about={'[' * 3000}": "line 1, column 51: got lists and mappings 51 deep; accepted: at most 50",
    "load={rate_per_s: 1, rate_per_s: 2}": "line 1, column 17: got key 'rate_per_s' twice; accepted: once",
    "a..b=3": "accepted: PATH=VALUE, e.g. load.duration_s=5 or faults[0].zone=b",
}


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    return str(path)


def refusal(source: str, *overrides: str) -> list[str]:
    with pytest.raises(ScenarioError) as refused:
        load_scenario(source, overrides=overrides)
    return list(refused.value.lines)


@pytest.mark.parametrize("override", REFUSED)
def test_a_bad_value_is_refused_with_path_value_and_what_is_accepted(good: str, override: str) -> None:
    assert REFUSED[override] in [line.split(": ", 1)[1] for line in refusal(good, override)]


@pytest.mark.parametrize("override", BAD_OVERRIDES)
def test_an_override_that_leads_nowhere_is_refused(good: str, override: str) -> None:
    assert refusal(good, override) == [f"--set {override}: {BAD_OVERRIDES[override]}"]


def test_an_error_says_whether_the_value_came_from_the_file_or_from_an_override(good: str) -> None:
    changed = Path(good).read_text().replace("zone: b", "zone: z")
    Path(good).write_text(changed)
    lines = refusal(good, "faults[1].isolate=y")
    accepted = "accepted: a zone of the topology (a, b, c)"
    assert lines == [f"{good}: faults[0].zone: got 'z'; {accepted}", f"--set: faults[1].isolate: got 'y'; {accepted}"]


@pytest.mark.parametrize("lag", ["constant:-2ms", "-2", "uniform:5ms:1ms", "trace:/no/such/file", "exponential:0ms"])
def test_a_bad_lag_is_refused_where_it_stands(good: str, lag: str) -> None:
    (line,) = refusal(good, f"links.lag={lag}")
    assert line.startswith("--set: links.lag: ")
    assert lag.removeprefix("trace:").rsplit(":", 1)[-1].rstrip("ms") in line


def test_a_lease_that_no_consumer_can_keep_is_refused(good: str) -> None:
    lines = refusal(good, "queue.unack_ms=20", "consumers.processing=constant:30ms")
    assert lines == [
        "--set: queue.unack_ms: got 20; accepted: more than the shortest processing time (30 ms), "
        "or no ack could come in time"
    ]


def test_leases_are_extended_only_where_an_engine_can(good: str) -> None:
    assert refusal(good, "queue.engine=gmq", "consumers.extend=0.5") == [
        "--set: consumers.extend: got 0.5; accepted: 0 with queue.engine gmq, default, whose consumers extend no lease"
    ]


def test_retries_end_before_the_drain_does(good: str) -> None:
    lines = refusal(good, "load.retries=20", "load.retry_after_ms=2000", "drain.bound_s=15")
    assert lines == [
        "--set: load.retry_after_ms: got 2000.0; accepted: so little that 20 retries end within drain.bound_s (15 s)"
    ]


def test_a_crash_needs_a_consumer(good: str) -> None:
    crash = "faults[2]={kind: consumer_crash, at_s: 4, for_s: 2, zone: b}"
    lines = refusal(good, crash, "consumers.per_zone=0")
    assert lines == ["--set: consumers.per_zone: got 0; accepted: at least 1, as faults[2] crashes a consumer"]


def test_every_error_of_a_file_is_told_at_once(good: str) -> None:
    assert len(refusal(good, "seed=x", "level=y", "load.batch=z")) == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "line 2, column 1: not valid YAML"),
        ("just words", "got 'just words'; accepted: a mapping with name, about, "),
        ("", "got None; accepted: a mapping with name, about, "),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    (line,) = refusal(str(path))
    assert line.startswith(f"{path}: {told}")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(b"name: \xff")
    (line,) = refusal(str(path))
    assert line.startswith(f"{path}: is not UTF-8 text")


def test_a_file_that_aliases_make_endless_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("\n".join(["a0: &a0 x", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))]))
    (line,) = refusal(str(path))
    assert line.startswith(f"{path}: line 6, column ")


def test_an_unknown_name_is_refused_with_the_names_that_there_are() -> None:
    (line,) = refusal("no-such-scenario")
    assert line == (
        f"no-such-scenario: no such scenario; accepted: {', '.join(library_names())}, or the path of a scenario file"
    )


def test_overrides_reach_lists_mappings_and_new_sections(good: str) -> None:
    scenario = load_scenario(
        good,
        overrides=["level=DC_ONE", "faults.0.zone=c", "load.rate_per_s={a: 5}", "links.overrides[a>b]=constant:1ms"],
    )
    assert scenario.level is Level.DC_ONE
    assert scenario.faults[0].model_dump()["zone"] == "c"
    assert [scenario.load.rate_of(zone) for zone in "abc"] == [5, 0, 0]
    assert scenario.links.overrides == {"a>b": "constant:1ms"}


def test_a_fault_can_be_appended_and_all_of_them_removed(good: str) -> None:
    added = load_scenario(good, overrides=["faults[2]={kind: pause, at_s: 6, for_s: 1, zone: b}"])
    assert [fault.kind for fault in added.faults] == ["kill", "cut", "pause"]
    assert load_scenario(good, overrides=["faults=[]"]).faults == ()


def test_the_same_zone_may_fail_again_once_it_is_back(good: str) -> None:
    scenario = load_scenario(good, overrides=["faults[2]={kind: pause, at_s: 5, for_s: 1, zone: b}"])
    assert len(scenario.faults) == 3


@pytest.mark.parametrize("name", library_names())
def test_a_library_scenario_is_valid_explains_itself_and_survives_being_printed(name: str, tmp_path: Path) -> None:
    scenario = load_scenario(name)
    assert scenario.name == name
    assert len(scenario.about.split()) > 20
    printed = tmp_path / "printed.yaml"
    printed.write_text(dump_scenario(scenario))
    assert load_scenario(str(printed)) == scenario


def test_the_printed_scenario_spells_out_every_default(good: str) -> None:
    printed = yaml.safe_load(dump_scenario(load_scenario(good)))
    assert printed["replication"] == {
        "time_factor": 0.1,
        "read_level": None,
        "read_repair": False,
        "hinted_handoff": None,
        "votes": "value",
        "anti_entropy": None,
        "strict": False,
    }
    assert printed["faults"][0] == {"at_s": 2.0, "for_s": 3.0, "kind": "kill", "zone": "b", "restart": "keep"}
