"""Goal: wrong settings are refused with the value and what is accepted. Method: tables of wrong and right values."""

from pathlib import Path

import pytest

from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.real.zones import DockerZoneSettings, ProcessZone, ProcessZoneSettings, ZoneSet, zones
from zonelab.cluster.real.zones.process.binary import ServerBinary, find_binary, packaged_binary
from zonelab.cluster.real.zones.server_file import server_configuration
from zonelab.cluster.zone import Persistence, ZoneError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"port": 0}, "port: got 0; accepted: 1 to 65535, or none for a free one"),
        ({"port": 65_536}, "port: got 65536; accepted: 1 to 65535, or none for a free one"),
        ({"start_timeout_s": 0}, "time-out: got 0 s; accepted: more than 0"),
        ({"warm_timeout_s": -1.5}, "time-out: got -1.5 s; accepted: more than 0"),
        ({"save_points": ()}, "save points: got (); accepted: (seconds, changes) of 1 or more"),
        (
            {"save_points": ((0, 1),)},
            "save points: got ((0, 1),); accepted: (seconds, changes) of 1 or more",
        ),
    ],
)
@pytest.mark.parametrize("kind", [ProcessZoneSettings, DockerZoneSettings])
def test_a_wrong_setting_is_refused(kind, settings, message):
    with pytest.raises(ZoneError) as caught:
        kind(**settings)
    assert str(caught.value) == message


@pytest.mark.parametrize("port", [1, 65_535, None])
@pytest.mark.parametrize("kind", [ProcessZoneSettings, DockerZoneSettings])
def test_any_port_there_is_is_accepted(kind, port):
    assert kind(port=port).port == port


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "a/b", "ä", "a" * 32])
def test_a_wrong_name_is_refused(name):
    with pytest.raises(ZoneError, match=r"accepted: 1 to 31 of a-z, 0-9 and '-', not '-' first"):
        ProcessZone(name)


def test_a_wrong_run_id_is_refused():
    with pytest.raises(ZoneError, match="run id: got 'a b'"):
        DockerZoneSettings(run_id="a b")


def test_runs_have_different_ids():
    assert DockerZoneSettings().run_id != DockerZoneSettings().run_id


def test_a_wrong_kind_of_zone_is_refused():
    with pytest.raises(ZoneError, match="zone kind: got 'vm'; accepted: process, docker"):
        zones("vm", ["a"])


@pytest.mark.parametrize(("names", "shown"), [([], "none"), (["a", "b", "a"], "a, b, a")])
def test_a_set_needs_different_zones(names, shown):
    with pytest.raises(ZoneError, match=f"got zone names {shown}; accepted: one or more, all different"):
        ZoneSet([ProcessZone(name) for name in names])


def test_a_set_gives_its_zones_in_order_and_by_name():
    zone_set = zones("process", ["b", "a"], persistence=Persistence.AOF_ALWAYS)
    assert zone_set.names == ("b", "a")
    assert [zone.name for zone in zone_set] == ["b", "a"]
    assert zone_set["a"].persistence is Persistence.AOF_ALWAYS
    with pytest.raises(ZoneError, match="no zone 'c'; there are: b, a"):
        zone_set["c"]


def test_the_packaged_server_is_found_and_asked_for_its_version():
    binary = find_binary(None)
    assert binary.path == packaged_binary()
    assert binary.product == "valkey"
    assert find_binary(str(binary.path)) == binary


def test_a_server_is_found_by_name_on_the_path(monkeypatch):
    monkeypatch.setenv("PATH", str(packaged_binary().parent))
    assert find_binary("valkey-server").path == packaged_binary()


def test_a_program_that_acts_by_the_name_it_is_called_by_is_called_by_the_given_name(tmp_path):
    """Debian's redis-server is a link to redis-check-rdb."""
    program = tmp_path / "redis-check-rdb"
    program.write_text('#!/bin/sh\ncase $0 in *redis-server) echo "Redis server v=7.0.15 sha=0" ;; esac\n')
    program.chmod(0o755)
    link = tmp_path / "redis-server"
    link.symlink_to(program)
    assert find_binary(link) == ServerBinary(path=link, product="redis", version="7.0.15")


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (None, 0, "does not exist; accepted: a path, or a name on PATH"),
        ("text", 0o644, "is not executable"),
        ("text", 0o755, "cannot be executed: Exec format error"),
        ("#!/bin/sh\necho hello\n", 0o755, "is not a Redis or Valkey server: --version answered 'hello'"),
        ("#!/bin/sh\nexit 1\n", 0o755, "is not a Redis or Valkey server: --version answered 'nothing'"),
    ],
)
def test_a_wrong_server_program_is_refused(tmp_path, content, mode, message):
    path = tmp_path / "server"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    with pytest.raises(ZoneError) as caught:
        find_binary(path)
    assert str(caught.value).endswith(f"{path} {message}")


def test_a_folder_is_no_server_program(tmp_path):
    with pytest.raises(ZoneError, match="is a directory"):
        find_binary(tmp_path)


@pytest.mark.parametrize(
    ("persistence", "expected"),
    [
        (Persistence.NONE, ['save ""', 'appendonly "no"']),
        (Persistence.AOF_ALWAYS, ['save ""', 'appendonly "yes"', 'appendfsync "always"']),
        (Persistence.AOF_EVERYSEC, ['save ""', 'appendonly "yes"', 'appendfsync "everysec"']),
        (Persistence.AOF_NO, ['save ""', 'appendonly "yes"', 'appendfsync "no"']),
        (Persistence.RDB, ["save 60 5", "save 1 9"]),
    ],
)
def test_persistence_becomes_the_servers_directives(persistence, expected):
    text = server_configuration(
        persistence=persistence,
        bind="127.0.0.1",
        port=7,
        directory='/tmp/with "quotes" and spaces',
        save_points=((60, 5), (1, 9)),
        protected=True,
        events=EventFlags.read("EAn"),
    )
    lines = text.splitlines()
    assert [line for line in lines if line.startswith(("save", "append"))] == expected
    assert 'dir "/tmp/with \\"quotes\\" and spaces"' in lines
    assert 'notify-keyspace-events "g$lshzxetdnE"' in lines
    assert {'bind "127.0.0.1"', "port 7", 'protected-mode "yes"', "databases 1"} <= set(lines)


@pytest.mark.parametrize(
    ("product", "version", "knows"),
    [("valkey", "9.1.2", True), ("valkey", "10.0.0", True), ("valkey", "9.0.4", False), ("redis", "10.1.0", False)],
)
def test_a_server_is_given_a_hash_seed_if_it_knows_the_setting(product, version, knows):
    assert ServerBinary(path=Path("x"), product=product, version=version).knows_hash_seed is knows
