"""Goal: ``zonelab evaluate --from`` reads a rollout from running servers, names how, and changes nothing on them.

Method: real servers that are used while they are read; the pause between both looks is the use.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from support.app.commands import Done, zonelab_here
from support.cluster.servers import Lab, started_lab

from zonelab.cluster.admin import server_survey
from zonelab.studies.evaluate.rollout import Rollout

pytestmark = pytest.mark.real

PUSHES = 200
READING = {"INFO", "CONFIG|GET", "CLIENT|SETINFO", "HELLO", "PING"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Zone a keeps its data in an append-only file, b nowhere."""
    with started_lab("a", "b") as started:
        started.run(started.direct("a").execute(("CONFIG", "SET", "appendonly", "yes")))
        yield started


def ports(lab: Lab) -> list[int]:
    return [lab.cluster.zones[zone].address.port for zone in "ab"]


def calls(lab: Lab, zone: str) -> dict[str, int]:
    (said,) = lab.run(lab.direct(zone).execute(("INFO", "commandstats")))
    rows = [line.split(":") for line in said.decode().splitlines() if line.startswith("cmdstat_")]
    return {name.removeprefix("cmdstat_").upper(): int(row.split(",")[0].split("=")[1]) for name, row in rows}


@pytest.fixture
def used(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The lengths of the pauses, within which the queue is used."""
    paused: list[float] = []

    async def use(seconds: float) -> None:
        paused.append(seconds)
        first, second = (server_survey.admin_client(lab.cluster.zones[zone].address) for zone in "ab")
        async with first as one, second as other:
            for number in range(PUSHES):
                for client in (one, other):
                    await client.hset("jobs", str(number), "x" * 100)
                    await client.zadd("queue", {str(number): number})

    monkeypatch.setitem(server_survey.survey.__kwdefaults__, "pause", use)
    monkeypatch.setitem(server_survey.survey.__kwdefaults__, "now_s", iter([0.0, 0.0, 5.0, 5.0]).__next__)
    return paused


def read(folder: Path, *words: str) -> Done:
    return zonelab_here("evaluate", *words, "--runs", "1", cwd=folder)


def test_what_servers_did_between_two_looks_is_the_rollout(lab: Lab, used: list[float], tmp_path: Path):
    before = {zone: calls(lab, zone) for zone in "ab"}
    one, other = ports(lab)
    done = read(tmp_path, "--from", f"127.0.0.1:{one}", f"127.0.0.1:{other}", "mine.yaml")
    assert (done.returncode, done.stdout) == (64, ""), "one run is too few, and nothing is simulated"
    assert used == [5.0]
    document = yaml.safe_load((tmp_path / "mine.yaml").read_text())
    assert document["topology"]["zones"] == ["a", "b"]
    assert document["load"]["rate_per_s"] == PUSHES / 5 / 2, "each server has the pushes of both zones"
    assert 100 < document["load"]["payload_bytes"] < 300
    assert document["persistence"] == "aof-everysec"
    assert Rollout.load(str(tmp_path / "mine.yaml")).scenario.load.rate_per_s == 20
    told = done.stderr.splitlines()
    assert told[0] == f"127.0.0.1:{one}, 127.0.0.1:{other}: read once, and again in 5 s; nothing is changed"
    assert (
        "  load.rate_per_s: 20 (40 a second at each server, of all zones: HSET in INFO commandstats, twice, 5 s "
        in (done.stderr)
    )
    how = f"CONFIG GET appendonly, appendfsync of 127.0.0.1:{one}; 127.0.0.1:{other} has none"
    assert f"  persistence: aof-everysec ({how})" in told
    assert any(line.startswith("  links.lag: that of the template") for line in told)
    for zone in "ab":
        added = {name for name, count in calls(lab, zone).items() if count > before[zone].get(name, 0)}
        assert added - {"HSET", "ZADD"} <= READING


@pytest.mark.usefixtures("used")
def test_lags_come_from_the_folders_of_measure_lag(lab: Lab, tmp_path: Path):
    one, other = ports(lab)
    (tmp_path / "lags" / "a").mkdir(parents=True)
    (tmp_path / "lags" / "a" / f"127.0.0.1-{other}.csv").write_text("delay_ms\n1.5\n2.5\n")
    words = ("--from", f"127.0.0.1:{one}", f"127.0.0.1:{other}", "--lags", "lags")
    done = read(tmp_path, *words)
    assert (done.returncode, f"--lags: got no lags/b/127.0.0.1-{one}.csv; accepted: it, or" in done.stderr) == (
        64,
        True,
    )
    assert not (tmp_path / "rollout.yaml").exists()


@pytest.mark.usefixtures("used")
def test_each_link_has_the_trace_of_its_zone_or_else_of_all(lab: Lab, tmp_path: Path):
    one, other = ports(lab)
    (tmp_path / "lags" / "a").mkdir(parents=True)
    (tmp_path / "lags" / "a" / f"127.0.0.1-{other}.csv").write_text("delay_ms\n1.5\n2.5\n")
    (tmp_path / "lags" / f"127.0.0.1-{one}.csv").write_text("delay_ms\n9\n")
    (tmp_path / "files").mkdir()
    words = ("--from", f"127.0.0.1:{one}", f"127.0.0.1:{other}", "--lags", "lags", "files/mine.yaml")
    read(tmp_path, *words)
    document = yaml.safe_load((tmp_path / "files" / "mine.yaml").read_text())
    assert document["links"]["overrides"] == {
        "a>b": f"trace:../lags/a/127.0.0.1-{other}.csv",
        "b>a": f"trace:../lags/127.0.0.1-{one}.csv",
    }
    Rollout.load(str(tmp_path / "files" / "mine.yaml"))


def test_idle_servers_and_a_file_that_is_there_are_refused(lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    async def nothing(_: float) -> None:
        pass

    monkeypatch.setitem(server_survey.survey.__kwdefaults__, "pause", nothing)
    words = ("--from", f"127.0.0.1:{ports(lab)[0]}")
    done = read(tmp_path, *words)
    assert (done.returncode, "--from: got no push within 0 s; accepted: servers of a queue in use" in done.stderr) == (
        64,
        True,
    )
    (tmp_path / "rollout.yaml").write_text("mine")
    done = read(tmp_path, *words)
    assert (done.returncode, "rollout.yaml: exists already" in done.stderr) == (64, True)
    assert (tmp_path / "rollout.yaml").read_text() == "mine"


@pytest.mark.usefixtures("used")
def test_where_config_is_refused_info_says_what_it_knows(lab: Lab, tmp_path: Path):
    lab.run(lab.direct("a").execute(("ACL", "SETUSER", "default", "-config")))
    try:
        done = read(tmp_path, "--from", f"127.0.0.1:{ports(lab)[0]}")
    finally:
        lab.run(lab.direct("a").execute(("ACL", "SETUSER", "default", "+config")))
    assert "persistence: aof-everysec (INFO persistence, as CONFIG GET is refused: the rest is a guess" in done.stderr
