"""Goal: a scenario names data centres and servers, is refused where they cannot be, and runs on them.

Method: documents with one value changed, printed and read again; short simulated runs.
"""

import pytest
import yaml

from zonelab.cluster.options.versions.settings import AntiEntropySettings
from zonelab.cluster.real.cluster import RealSettings
from zonelab.cluster.votes.levels import Level, VoteBy
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.run.network_settings import network_of
from zonelab.scenarios.run.simulated import recorded, simulate
from zonelab.scenarios.run_files.tables import MemoryTables
from zonelab.scenarios.spec.reading import dump_scenario, load_scenario

TWO_DCS = {"data_centres": {"east": {"a": 1, "b": 1, "c": 1}, "west": {"d": 1, "e": 1, "f": 1}}}
SHARED = {"data_centres": {"east": {"a": 3, "b": 2, "c": 1}}}
LOAD = {"duration_s": 2, "rate_per_s": 10}


def loaded(path, topology, *overrides, **sections):
    path = path / "drawn.yaml"
    document = {"name": "drawn", "arm": "sim", "topology": topology, "load": LOAD, **sections}
    path.write_text(yaml.safe_dump(document))
    return load_scenario(str(path), overrides=overrides)


def run(scenario):
    tables = MemoryTables()
    done = simulate(scenario, tables)
    return done, recorded(scenario, done, tables)


def test_the_zones_are_those_of_all_data_centres_and_servers_are_named_after_them(tmp_path):
    scenario = loaded(tmp_path, SHARED | {"hash": "murmur3", "hash_tag": "{}"})
    assert scenario.zones == ("a", "b", "c")
    assert scenario.servers == ("a", "a2", "a3", "b", "b2", "c")
    assert scenario.topology.layout.hash_tag == "{}"
    assert loaded(tmp_path, TWO_DCS).servers == ("a", "b", "c", "d", "e", "f")


def test_zones_are_called_as_people_call_them(tmp_path):
    zones = ["eu-west-1a", "eu-west-1b", "a" * 31]
    done, recorded_run = run(
        loaded(
            tmp_path,
            {"zones": zones},
            "load.rate_per_s.eu-west-1b=20",
            load=LOAD | {"rate_per_s": {"eu-west-1a": 10}},
            links={"overrides": {"eu-west-1a>eu-west-1b": "constant:5ms"}},
            faults=[{"kind": "lag", "link": "eu-west-1b>eu-west-1a", "lag": "constant:9ms", "at_s": 0.5, "for_s": 0.5}],
        )
    )
    assert done.record.status == "complete"
    producers = {
        row["process"] for batch in recorded_run.operations(["process"], batch_rows=10_000) for row in batch.to_pylist()
    }
    assert {"producer-eu-west-1a", "producer-eu-west-1b"} < producers


@pytest.mark.parametrize("topology", [TWO_DCS, SHARED, {"zones": ["a", "b"]}])
def test_a_printed_scenario_can_be_read_again(tmp_path, topology):
    scenario = loaded(tmp_path, topology)
    (tmp_path / "again.yaml").write_text(dump_scenario(scenario))
    assert load_scenario(str(tmp_path / "again.yaml")) == scenario


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        (TWO_DCS | {"zones": ["a", "b"]}, "topology.zones: got .*accepted: nothing, or those of the data centres"),
        ({"data_centres": {"x": {"a": 1}, "y": {"a": 1}}}, "topology.zones: got .'a', 'a'.; accepted: 1 to 14"),
        ({"data_centres": {"x": {"a": 2, "a2": 1}}}, "topology.data_centres: node names: got"),
        ({"data_centres": {"x": {"a": 0}}}, "topology.data_centres.x.a: got 0"),
        ({"zones": ["a-"]}, "topology.zones.0.: got 'a-'; accepted: a zone name: 1 to 31 of a-z"),
        ({"zones": ["a" * 32]}, "topology.zones.0.: got 'a{32}'; accepted: a zone name: 1 to 31"),
        ({"hash": "sha1"}, "topology.hash: got 'sha1'; accepted: murmur, murmur3"),
        ({"hash_tag": "{"}, "topology.hash_tag: got '{'; accepted: two ASCII characters"),
    ],
)
def test_a_topology_that_cannot_be_is_refused(tmp_path, topology, said):
    with pytest.raises(ScenarioError, match=said):
        loaded(tmp_path, topology)


def test_a_fault_may_name_any_server_but_a_program_runs_where_its_zone_is(tmp_path):
    kill = {"kind": "kill", "zone": "a2", "at_s": 0.5, "for_s": 0.5}
    assert loaded(tmp_path, SHARED, faults=[kill]).faults[0].zone == "a2"
    with pytest.raises(ScenarioError, match="got 'a2'; accepted: a zone of the topology"):
        loaded(tmp_path, SHARED, faults=[kill | {"kind": "consumer_crash"}])
    with pytest.raises(ScenarioError, match="got 'x'; accepted: a server of the topology"):
        loaded(tmp_path, SHARED, faults=[kill | {"zone": "x"}])
    with pytest.raises(ScenarioError, match="got 'warm'; accepted: keep, as no other server holds the same keys"):
        loaded(tmp_path, SHARED, faults=[kill | {"restart": "warm"}])


def test_hardened_mode_which_compares_whole_zones_is_refused_where_zones_have_several_servers(tmp_path):
    assert loaded(tmp_path, TWO_DCS, "queue.mode=hardened").zones == ("a", "b", "c", "d", "e", "f")
    with pytest.raises(ScenarioError, match="accepted: default; hardened needs zones of one server"):
        loaded(tmp_path, SHARED, "queue.mode=hardened")


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("topology", [TWO_DCS, SHARED], ids=["two-dcs", "shared"])
def test_a_run_on_it_delivers_every_message(tmp_path, topology, level):
    scenario = loaded(tmp_path, topology, f"level={level}", links={"lag": "constant:1ms"})
    done, _ = run(scenario)
    assert done.record.status == "complete"
    assert done.record.drained


@pytest.mark.parametrize("topology", [TWO_DCS, SHARED], ids=["two-dcs", "shared"])
def test_a_run_on_it_is_the_same_twice(tmp_path, topology):
    scenario = loaded(tmp_path, topology, "level=DC_QUORUM", links={"lag": "constant:1ms"})
    one, other = (run(scenario)[0].trace_hash for _ in range(2))
    assert one == other


OUTAGE = [{"kind": "kill", "zone": "b", "restart": "keep", "at_s": 0.5, "for_s": 1}]


def waiting_at_the_end(path, *overrides):
    """Payloads that b lacks of those that a has, by the end state of a run without consumers."""
    scenario = loaded(
        path,
        {"zones": ["a", "b", "c"]},
        "replication.time_factor=0.02",
        "drain.bound_s=3",
        *overrides,
        links={"lag": "constant:1ms"},
        load={"duration_s": 2, "rate_per_s": {"a": 50}},
        consumers={"per_zone": 0},
        faults=OUTAGE,
    )
    done, found = run(scenario)
    rows = found.tables.tables["final_state"].batch().to_pylist()
    held = {zone: {row["message_id"] for row in rows if row["zone"] == zone} for zone in "ab"}
    return len(held["a"] - held["b"]), done.record.coordinators["a"]["options"]


def test_without_handoff_a_killed_zone_lacks_what_was_written_meanwhile_and_with_it_does_not(tmp_path):
    lacking, options = waiting_at_the_end(tmp_path)
    assert lacking > 10
    assert options == {}
    lacking, options = waiting_at_the_end(tmp_path, "replication.hinted_handoff={queue: 1000}")
    assert lacking == 0
    assert options["hints replayed"] == options["hints stored"] > 10


def test_a_read_level_of_its_own_and_read_repair_are_settings_of_the_run(tmp_path):
    topology = {"zones": ["a", "b", "c"]}
    scenario = loaded(tmp_path, topology, replication={"read_level": "DC_ONE", "read_repair": True})
    assert str(scenario.setting) == "DC_ONE/DC_QUORUM"
    assert loaded(tmp_path, topology).setting is Level.DC_QUORUM
    done, _ = run(scenario)
    assert done.record.drained
    assert done.record.coordinators["a"]["levels"]["DC_ONE/DC_QUORUM"]["commands"] > 0


def test_votes_by_version_and_anti_entropy_are_settings_of_a_scenario(tmp_path):
    replication = {"votes": "version", "anti_entropy": {"interval_ms": 200, "entries": 50, "retention_s": 60.0}}
    scenario = loaded(tmp_path, {"zones": ["a", "b", "c"]}, replication=replication)
    options = network_of(RealSettings, scenario).replication
    assert options.votes is VoteBy.VERSION
    assert options.anti_entropy == AntiEntropySettings(interval_ms=200, entries=50, retention_s=60.0)


@pytest.mark.parametrize(
    ("topology", "replication", "said"),
    [
        ({"zones": ["a", "b"]}, {"votes": "newest"}, "version"),
        ({"zones": ["a", "b"]}, {"votes": "version", "read_repair": True}, "read_repair: got true"),
        ({"data_centres": {"dc": {"a": 2, "b": 2}}}, {"anti_entropy": {}}, "one data centre"),
        ({"zones": ["a", "b"]}, {"anti_entropy": {"interval_ms": 0}}, "interval_ms"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, topology, replication, said):
    with pytest.raises(ScenarioError, match=said):
        loaded(tmp_path, topology, replication=replication)
