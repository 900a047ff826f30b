"""Goal: each verb of a session asks for what its words say, and shows what it is told.

Method: command lines in this process, beside a supervisor that the test plays.
"""

import pytest

from zonelab.app.cli import faults, session
from zonelab.app.cli.main import run_cli
from zonelab.app.cli.watch import watch
from zonelab.app.session.client import NotUp
from zonelab.app.session.state_file import SessionFile
from zonelab.app.session.status_tables import print_status
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.faults.catalogue import UP
from zonelab.scenarios.faults.fault import ClusterPart
from zonelab.studies.reporting.console import console

FAULTS = {
    "cut": (["--mode", "hold"], {"mode": "hold"}),
    "lag": (["constant:5ms"], {"lag": "constant:5ms"}),
    "loss": (["0.1"], {"share": 0.1}),
    "duplicate": (["0.5", "--after-ms", "20"], {"share": 0.5, "after_ms": 20}),
    "slow": (["8"], {"factor": 8}),
    "kill": (["--restart", "warm"], {"restart": "warm"}),
}


class Supervisor:
    """Keeps what it is asked, and answers with ``answer``."""

    def __init__(self):
        self.asked = []
        self.answer = {}

    def get(self, path):
        return self.answer

    def post(self, path, body=None):
        self.asked.append((path, body))
        return self.answer


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def supervisor(monkeypatch):
    played = Supervisor()
    for module in (faults, session):
        monkeypatch.setattr(module, "control", lambda: played)
    return played


def test_queues_are_shown_on_the_page_whose_address_is_printed(supervisor, capsys):
    supervisor.session = SessionFile(owner="", control="http://127.0.0.1:7", token="secret")
    supervisor.answer = {"done": ["shown"]}
    words = [
        "monitor",
        "--queue",
        "mails",
        "--queue",
        "jobs",
        "--engine",
        "gmq",
        "--prefix",
        "app",
        "--set",
        "buckets=5",
    ]
    assert run_cli(words) == 0
    of_all = {"engine": "gmq", "mode": "default", "prefix": "app", "options": {"buckets": 5}}
    assert supervisor.asked == [("/queues", {"name": name, **of_all}) for name in ("mails", "jobs")]
    assert capsys.readouterr().out == "http://127.0.0.1:7/#token=secret\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--engine", "gmq"], "--set need --queue"),
        (["--queue", "jobs", "--set", "buckets"], "--set: got buckets; accepted: NAME=VALUE, e.g. buckets=5"),
        (["--server", "127.0.0.1:1"], "--server and --monitor-port need addresses of coordinators"),
        (["http://127.0.0.1:1", "--queue", "jobs"], "--server: got 0; accepted with --queue: 1, one a coordinator"),
    ],
)
def test_a_page_that_cannot_be_is_refused_in_one_line(words, told, supervisor, capsys):
    assert run_cli(["monitor", *words]) == 64
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_coordinator_that_does_not_answer_is_told_at_once(capsys):
    assert run_cli(["monitor", "http://127.0.0.1:1"]) == 3
    assert capsys.readouterr().err.startswith(
        "zonelab: no coordinator's administration answers at http://127.0.0.1:1: "
    )


@pytest.mark.parametrize("kind", UP)
def test_every_kind_of_fault_has_its_words(kind, supervisor, capsys):
    supervisor.answer = {"done": {"fault": "1:it"}}
    words, amounts = FAULTS.get(kind, ([], {}))
    target = "a:b" if UP[kind].part is ClusterPart.LINKS else "b"
    assert run_cli(["fault", kind, target, *words, "--for", "2s"]) == 0
    assert supervisor.asked == [("/faults", {"kind": kind, "target": target, "for_s": 2.0, **amounts})]
    assert capsys.readouterr().out == "1:it, for 2 s\n"


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["restart", "b", "--wipe"], ("/restart", {"what": "zone", "target": "b", "mode": "wipe"})),
        (["restart", "b", "--coordinator"], ("/restart", {"what": "coordinator", "target": "b"})),
        (["end", "3"], ("/faults/end", {"number": 3})),
    ],
)
def test_what_ends_a_fault_tells_what_was_done(words, asked, supervisor, capsys):
    supervisor.answer = {"done": ["one thing", "another"]}
    assert run_cli(["fault", *words]) == 0
    assert supervisor.asked == [asked]
    assert "one thing\n" in capsys.readouterr().out


def test_a_server_comes_back_in_one_way(supervisor, capsys):
    assert run_cli(["fault", "restart", "b", "--wipe", "--warm"]) == 64
    assert capsys.readouterr().err == "zonelab: --wipe, --warm and --coordinator exclude each other\n"


def test_of_a_fault_that_a_cluster_cannot_have_it_is_said_why(supervisor, capsys):
    assert run_cli(["fault", "clock", "b"]) == 64
    assert capsys.readouterr().err == (
        "zonelab: a cluster of zonelab up cannot have clock: all programs of such a cluster have the clock of this "
        "machine. Its fields in a scenario: at_s, for_s, zone, consumer, service, offset_ms, drift_ppm\n"
    )


def test_healing_says_what_was_done_or_that_nothing_was_to_do(supervisor, capsys):
    for done, told in ((["ended 1:kill b"], "ended 1:kill b\n"), ([], "nothing to heal\n")):
        supervisor.answer = {"done": done}
        assert run_cli(["heal"]) == 0
        assert capsys.readouterr().out == told


def zone(name, *, statistics=None, **place):
    coordinator = {"state": "running" if statistics else "paused", "address": "127.0.0.1:7401"}
    return {"zone": name, "coordinator": coordinator, "server": {"state": "dead"}, "statistics": statistics, **place}


def counted(**changes):
    return {
        "connected": {"a": True, "b": False},
        "peers": {"c": True},
        "remote": {},
        "clients": 2,
        "commands": 1_234,
        "errors": 5,
        "divergence": 0,
        "options": {},
        "latency_ms": {"p50": 1.5, "p99": None},
        "recent": dict.fromkeys(("errors_per_s", "divergent_per_s"), 1)
        | {"seconds": 5.0, "operations_per_s": 12.34, "p50_ms": 80, "p99_ms": 99},
        "levels": {},
    } | changes


def link(name, **changes):
    return {"link": name, "lag": "0", "cut": None, "loss": 0.0, "duplicate": 0.0, "in_flight": 0} | changes


def status(*zones, **changes):
    head = {
        "level": "DC_QUORUM",
        "lag": "0",
        "dc_lag": None,
        "kind": "process",
        "up_s": 61.2,
        "data_centres": {},
        "notices": [],
        "deviations": [],
    }
    return {**head, "zones": zones, "links": [], "faults": [], **changes}


def shown(supervisor, capsys, told):
    supervisor.answer = told
    assert run_cli(["status"]) == 0
    return [" ".join(line.replace("│", " ").split()) for line in capsys.readouterr().out.splitlines()]


def test_the_status_of_a_cluster_has_a_row_a_zone_a_link_and_a_fault(supervisor, capsys):
    level = {"decisions": {"majority": 7, "no_quorum": 0}, "commands": 9, "error_answers": 1, "late_disagreements": 0}
    answers = counted(levels={"DC_QUORUM": level}, options={"hints stored": 3})
    fault = {"fault": "1:cut a", "links": ["a>b"], "since_s": 2.0, "ends_in_s": None}
    told = status(
        zone("a", statistics=answers), zone("b"), links=[link("a>b", cut="drop", loss=0.1, in_flight=4)], faults=[fault]
    )
    lines = shown(supervisor, capsys, told)
    assert "DC_QUORUM, lag 0, process zones, up for 61 s: totals since then" in lines
    assert "a 7401 running dead a 2 1,234 5 0 1.5 –" in lines
    assert "b 7401 paused dead – – – – – – –" in lines
    assert lines[lines.index("The last 5 s") + 3 :][:2] == ["a 12.3 1 1 80 99", "b – – – – –"]
    assert "a DC_QUORUM majority 7 9 1 0" in lines
    assert "a hints stored 3" in lines
    assert "a>b 0 drop 10.0% – 4" in lines
    assert "1:cut a 1 2 –" in lines


def test_watching_prints_lines_until_the_cluster_is_down(capsys):
    told = iter([status(zone("a", statistics=counted()), zone("b"), faults=[{"fault": "1:cut a"}]), status(zone("b"))])

    def asked():
        if (now := next(told, None)) is None:
            raise NotUp("no cluster is up")
        return now

    waits = []
    watch(asked, console(), sleep=waits.append)
    assert capsys.readouterr().out.splitlines() == [
        "61 s: a 12.3/s, 1 errors/s, p99 99 ms; b coordinator paused; 1:cut a",
        "61 s: b coordinator paused; no fault",
        "down",
    ]
    assert waits == [5.0, 5.0]


def test_watching_ends_quietly_with_ctrl_c_and_takes_no_json(supervisor, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    watch(lambda: status(zone("b")), console(), sleep=interrupted)
    assert run_cli(["status", "--watch", "--json"]) == 64
    assert "--watch and --json exclude each other" in capsys.readouterr().err


def test_of_several_data_centres_what_passes_between_them_is_shown(supervisor, capsys):
    remote = {"sent": 8, "failed_over": 1, "dropped": 2, "failed": 0}
    nodes = [
        zone("a1", statistics=counted(remote=remote), data_centre="east", of_zone="a"),
        zone("b1", data_centre="west", of_zone="b"),
    ]
    lines = shown(supervisor, capsys, status(*nodes, data_centres={"east": {}, "west": {}}, dc_lag="constant:9ms"))
    assert "DC_QUORUM, lag 0, between data centres constant:9ms, process zones, up for 61 s: totals since then" in lines
    assert "east a1 7401 running dead a 2 1,234 5 0 1.5 –" in lines
    assert "a1 c 8 1 2 0" in lines
    assert "b1 – – – – –" in lines


@pytest.mark.parametrize(
    ("down", "told"), [("", "all 9"), ("c", "all but c"), ("cde", "6 of 9"), ("abcdefghi", "none")]
)
def test_of_many_zones_those_are_named_that_are_not_reached(down, told, capsys):
    connected = {name: name not in down for name in "abcdefghi"}
    print_status(status(zone("a", statistics=counted(connected=connected))))
    assert told in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("at_fault", "told"), [(2, "Links under a fault, 2 of 56"), (50, None)])
def test_of_many_links_those_under_a_fault_are_shown_if_they_are_few(at_fault, told, capsys):
    links = [link(f"{number}>x") for number in range(56)]
    names = [each["link"] for each in links[:at_fault]]
    fault = {"fault": "1:cut x", "links": names, "since_s": 2.0, "ends_in_s": 3.0}
    print_status(status(zone("a"), links=links, faults=[fault]))
    found = capsys.readouterr().out
    assert told in found if told else "Links" not in found


def test_the_end_of_a_cluster_is_told_with_what_it_left(monkeypatch, capsys):
    for answer, told in (
        ({"ended": True, "run": "runs/1", "removed": [], "keys": []}, "down; report: zonelab report runs/1\n"),
        ({"ended": False, "run": None, "removed": ["/tmp/x"], "keys": []}, "removed /tmp/x\n"),
        ({"ended": False, "run": None, "removed": [], "keys": []}, "no cluster is up\n"),
    ):
        monkeypatch.setattr("zonelab.app.session.launch.down", lambda state, answer=answer: answer)
        assert run_cli(["down"]) == 0
        assert capsys.readouterr().out == told


def test_status_says_what_clients_are_not_told(supervisor, capsys):
    sentence = "Zone b answered NOSCRIPT 12 times since [then]"
    assert sentence in shown(supervisor, capsys, status(zone("a"), notices=[sentence]))


def test_status_says_why_a_server_that_runs_refuses_writes(supervisor, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    full = zone("a", statistics=counted(server_troubles=["memory full"])) | {"server": {"state": "running"}}
    lines = shown(supervisor, capsys, status(full, zone("b", statistics=counted())))
    assert any("running, memory full" in line for line in lines)
    assert not any("dead," in line for line in lines)


def test_options_of_up_become_the_sections_of_a_session(monkeypatch, tmp_path, capsys):
    asked = []

    def start(settings, state):
        asked.append(settings)
        raise ClusterError("no servers here")

    monkeypatch.setattr("zonelab.app.session.launch.up", start)
    file = tmp_path / "t.yaml"
    file.write_text("{zones: [a, b], links: {lag: 1ms, loss: 0.5}}")
    assert run_cli(["up", "--lag", "2ms", "--hinted-handoff", "--anti-entropy", "1.5ms"]) == 3
    assert run_cli(["up", "--topology", str(file), "--votes", "version"]) == 3
    assert run_cli(["up", "--topology", str(file), "--lag", "2ms"]) == 64
    assert f"--lag: excluded by links.lag in {file}" in capsys.readouterr().err
    assert [(made.links.lag, made.links.loss) for made in asked] == [("2ms", 0.0), ("1ms", 0.5)]
    assert [made.replication.model_dump(mode="json", exclude_defaults=True) for made in asked] == [
        {"hinted_handoff": {}, "anti_entropy": {"interval_ms": 2}},
        {"votes": "version"},
    ]
