"""Goal: every setting of a cluster has the default that is stated, and is refused beyond its borders.

Method: tables of all fields, tried on both sides of each border; a field that is in no table fails.
"""

import re
from dataclasses import fields

import pytest

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.options.hinted_handoff import HandoffSettings
from zonelab.cluster.options.versions.clock import COORDINATORS_MAX
from zonelab.cluster.options.versions.settings import AntiEntropySettings
from zonelab.cluster.real.cluster import RealSettings
from zonelab.cluster.real.zones.settings import DockerZoneSettings, ProcessZoneSettings, checked_name
from zonelab.cluster.resp.protocol.scanner import CommandLimits
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.schedule import Schedule, TieBreak
from zonelab.cluster.sim.server import ServerSettings
from zonelab.cluster.sim.station import StationSettings
from zonelab.cluster.topology.described import topology_of
from zonelab.cluster.votes.levels import VoteBy
from zonelab.cluster.wiring.settings import Links, NetworkSettings, ReplicationOptions
from zonelab.cluster.zone import ClusterError, Persistence, ZoneError

US, MS, S, DAY = 1_000, 1_000_000, 1_000_000_000, 86_400_000_000_000
MIB = 1_048_576
SERVERS_OWN_SAVE_POINTS = ((3_600, 1), (300, 100), (60, 10_000))
DYNOMITES_WAITS_MS = (1_000, 2_000, 4_000, 8_000, 10_000)

NETWORK = {
    "lag": ConstantLag(),
    "lags": None,
    "coherence_ns": 25 * MS,
    "loss": 0.0,
    "timeouts": Timeouts(),
    "topology": None,
    "replication": ReplicationOptions(),
}
ZONES = {
    "persistence": Persistence.NONE,
    "port": None,
    "save_points": SERVERS_OWN_SAVE_POINTS,
    "start_timeout_s": 30.0,
    "warm_timeout_s": 60.0,
    "events": EventFlags(),
}
HINTS, COMPARED = HandoffSettings(), AntiEntropySettings()
SECTIONS = [
    (Links(), {"lag": "0", "overrides": {}, "coherence_ms": 25.0, "loss": 0.0}),
    (HINTS, {"queue": 100_000, "queue_bytes": 256 * MIB, "look_ms": 50, "wait_ms": 5_000}),
    (COMPARED, {"interval_ms": 1_000, "entries": 1_000, "copy_bytes": MIB, "retention_s": 10 * 86_400.0}),
    (
        ReplicationOptions(),
        {"read_repair": False, "hinted_handoff": None, "votes": "value", "anti_entropy": None, "strict": False},
    ),
]


@pytest.mark.parametrize(("section", "stated"), SECTIONS)
def test_each_section_has_its_stated_defaults(section, stated):
    assert section.model_dump() == stated


DEFAULTS = [
    (NetworkSettings, {"seed": 3}, NETWORK),
    (RealSettings, {"seed": 3}, NETWORK | {"greetings": {}}),
    (
        SimSettings,
        {"seed": 3},
        NETWORK
        | {
            "schedule": Schedule(),
            "server": ServerSettings(),
            "coordinator": None,
            "epoch_ns": 1_700_000_000 * S,
            "keep_trace": False,
        },
    ),
    (
        Timeouts,
        {},
        {
            "datastore_ms": 5_000,
            "peer_read_ms": 5_200,
            "peer_write_ms": 25_200,
            "remote_read_ms": 10_000,
            "remote_write_ms": 30_000,
            "reconnect_ms": DYNOMITES_WAITS_MS,
            "factor": 1.0,
        },
    ),
    (
        ServerSettings,
        {},
        {
            "persistence": Persistence.NONE,
            "request_ns": 20 * US,
            "reply_ns": 20 * US,
            "service_ns": 5 * US,
            "service": None,
            "fsync_ns": MS,
            "start_ns": 10 * MS,
            "save_points": SERVERS_OWN_SAVE_POINTS,
            "events": EventFlags(),
        },
    ),
    (Schedule, {}, {"tie_break": TieBreak.RANDOM, "change_points": 2, "steps": 10_000}),
    (StationSettings, {"service": ConstantLag(1)}, {"capacity": 1}),
    (ProcessZoneSettings, {}, ZONES | {"binary": None}),
    (DockerZoneSettings, {"run_id": "r"}, ZONES | {"image": None}),
    (
        PortSettings,
        {},
        {
            "host": "127.0.0.1",
            "port": 0,
            "password": None,
            "certificate": None,
            "private_key": None,
            "clients_max": 10_000,
            "in_flight_max": 1_024,
            "in_flight_begin": 4,
            "reply_bytes": 16 * MIB,
            "held_bytes_max": 512 * MIB,
            "zone_backlog_bytes": 256 * MIB,
            "busy_poll_us": 200,
            "reload_scripts": False,
            "commands": CommandLimits(),
        },
    ),
    (
        CommandLimits,
        {},
        {
            "argument_bytes": 64 * MIB,
            "arguments": MIB,
            "command_bytes": 64 * MIB,
            "guest_argument_bytes": 16_384,
            "guest_arguments": 10,
        },
    ),
]


@pytest.mark.parametrize(("kind", "needed", "stated"), DEFAULTS)
def test_each_field_has_its_stated_default(kind, needed, stated):
    made = kind(**needed)
    assert {each.name: getattr(made, each.name) for each in fields(kind)} == needed | stated


BORDERS = [
    # settings, what they need, field, accepted, refused, what is said of these
    *((HandoffSettings, {}, name, (1,), (0, -1), "greater than or equal to 1") for name in SECTIONS[1][1]),
    *((AntiEntropySettings, {}, name, (1,), (0,), "greater than") for name in SECTIONS[2][1]),
    (Links, {}, "coherence_ms", (0,), (-0.1,), "greater than or equal to 0"),
    (Links, {}, "loss", (0, 0.999), (-0.001, 1), "than"),
    *(
        (ServerSettings, {}, name, (0,), (-1,), f"{name} must be 0 or more nanoseconds, got -1")
        for name in ("request_ns", "reply_ns", "service_ns", "fsync_ns", "start_ns")
    ),
    (StationSettings, {"service": ConstantLag(1)}, "capacity", (1,), (0,), "capacity must be 1 or more, got 0"),
    (Schedule, {"steps": 3}, "change_points", (0, 3), (-1, 4), "change_points must be 0 or more and steps at least"),
    (Schedule, {"change_points": 0}, "steps", (1,), (0,), "at least 1, got 0 and 0"),
    (Timeouts, {}, "factor", (1e-9, 5), (0, -1, float("inf"), float("nan")), "factor must be above 0 and finite"),
    *(
        (PortSettings, {}, name, (1,), (0,), f"{name} must be at least 1, got 0")
        for name in ("clients_max", "in_flight_max", "in_flight_begin", "reply_bytes", "held_bytes_max")
    ),
    (PortSettings, {}, "zone_backlog_bytes", (1,), (0,), "zone_backlog_bytes must be at least 1, got 0"),
    (PortSettings, {}, "busy_poll_us", (0, 1_000_000), (-1, 1_000_001), "busy_poll_us must be 0 to 1000000, got"),
    *(
        (kind, {}, name, (0.001,), (0,), "time-out: got 0 s; accepted: more than 0")
        for kind in (ProcessZoneSettings, DockerZoneSettings)
        for name in ("start_timeout_s", "warm_timeout_s")
    ),
    (
        ProcessZoneSettings,
        {},
        "save_points",
        (((1, 1),),),
        (((1, 0),), ((9, 9), (0, 1))),
        "accepted: (seconds, changes)",
    ),
    (DockerZoneSettings, {}, "run_id", ("a", "0-" + "z" * 29), ("", "-a", "A", "a" * 32), "1 to 31 of a-z, 0-9"),
]


@pytest.mark.parametrize(("kind", "needed", "name", "accepted", "refused", "said"), BORDERS)
def test_a_setting_is_accepted_up_to_its_border_and_refused_beyond(kind, needed, name, accepted, refused, said):
    for value in accepted:
        assert getattr(kind(**needed, **{name: value}), name) == value
    for value in refused:
        with pytest.raises((ValueError, ZoneError), match=re.escape(said)):
            kind(**needed, **{name: value})


def test_a_zones_name_has_31_letters_at_most():
    assert checked_name("a" * 31) == "a" * 31
    with pytest.raises(ZoneError, match="zone name"):
        checked_name("a" * 32)


def test_time_outs_are_scaled_by_one_factor_and_the_last_wait_repeats():
    scaled = Timeouts(factor=0.1)
    assert scaled.datastore_ns == 500 * MS
    assert (scaled.peer_ns(writes=False), scaled.peer_ns(writes=True)) == (520 * MS, 2_520 * MS)
    far = scaled.between_data_centres()
    assert (far.peer_ns(writes=False), far.peer_ns(writes=True)) == (S, 3 * S)
    assert [scaled.reconnect_ns(attempt) for attempt in range(7)] == [
        wait * MS // 10 for wait in (*DYNOMITES_WAITS_MS, *DYNOMITES_WAITS_MS[-1:] * 2)
    ]


def test_hints_go_out_in_windows_of_half_the_queue_at_most():
    windows = [HandoffSettings(queue_bytes=count).window_bytes for count in (1, 2, 9, 2 * MIB, 2 * MIB + 2, 99 * MIB)]
    assert windows == [1, 1, 4, MIB, MIB, MIB]


VERSIONS = {"votes": VoteBy.VERSION}
REPAIR, STRICT = "read_repair: got true; accepted: false", "strict: got true; accepted: false"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"read_repair": True, **VERSIONS}, REPAIR),
        ({"read_repair": True, "anti_entropy": COMPARED}, REPAIR),
        ({"strict": True, "read_repair": True}, STRICT),
        ({"strict": True, **VERSIONS}, STRICT),
        ({"strict": True, "hinted_handoff": HINTS}, STRICT),
        ({"strict": True, "anti_entropy": COMPARED}, STRICT),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        ReplicationOptions(**options)


@pytest.mark.parametrize(
    ("options", "data_centres", "said"),
    [
        ({"anti_entropy": COMPARED}, {"x": {"a": ["a1", "a2"]}}, "zones of one server"),
        ({"anti_entropy": COMPARED}, {"x": {"a": ["a"]}, "y": {"b": ["b"]}}, "one data centre"),
        (VERSIONS, {"x": {"a": [f"a{number}" for number in range(COORDINATORS_MAX + 1)]}}, "up to 16 servers, got 17"),
    ],
)
def test_a_topology_that_cannot_have_an_option_is_refused(options, data_centres, said):
    with pytest.raises(ClusterError, match=said):
        NetworkSettings(seed=1, topology=topology_of(data_centres), replication=ReplicationOptions(**options))


def test_zones_of_one_data_centre_that_is_named_may_be_compared_like_zones_alone():
    compared, named = ReplicationOptions(anti_entropy=COMPARED), topology_of({"x": {"a": ["a"], "b": ["b"]}})
    assert NetworkSettings(seed=1, topology=named, replication=compared).replication is compared


@pytest.mark.parametrize(
    ("options", "versioned"),
    [
        ({}, False),
        ({"read_repair": True, "hinted_handoff": HINTS}, False),
        ({"votes": VoteBy.VERSION, "hinted_handoff": HINTS}, True),
        ({"anti_entropy": COMPARED}, True),
    ],
)
def test_writes_carry_versions_where_an_option_needs_them(options, versioned):
    assert ReplicationOptions(**options).versioned is versioned


def test_a_simulation_is_made_of_its_settings():
    cluster = SimCluster(("a", "b"), SimSettings(seed=1, epoch_ns=5 * S, server=ServerSettings(start_ns=7)))
    assert cluster.epoch_ns == 5 * S
    assert cluster.clock("b").now_ms() == 5_000
    assert cluster.runtime.trace.notes is None
    assert cluster.zones["a"].server.settings.start_ns == 7
    assert SimCluster(("a",), SimSettings(seed=1, keep_trace=True)).runtime.trace.notes == []
