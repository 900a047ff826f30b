"""Goal: the state of a cluster is shown whole: each figure in its column, a dash for what is unknown.

Method: planted states of clusters, each figure another number, and all that is printed of them.
"""

from typing import Any

import pytest

from zonelab.app.session.status_tables import print_endpoints, print_status, recent_line, status_tables


def recent(value: float) -> dict[str, float]:
    rates = {"operations_per_s": 1_000 * value, "errors_per_s": value + 1, "divergent_per_s": value + 2}
    return {"seconds": value + 0.5, **rates, "p50_ms": value + 3, "p99_ms": 100 * value + 4}


def counted(value: int, **changes: Any) -> dict[str, Any]:
    levels = {
        "DC_ONE": {
            "decisions": {"one_answer": 1_000 * value, "none": 0, "most": 3},
            **{"commands": 2_000 * value, "error_answers": 4 * value, "late_disagreements": 5 * value},
        }
    }
    return {
        "connected": {"b": True, "a": True},
        **{"clients": value, "commands": 1_000 * value, "errors": value + 20, "divergence": value + 30},
        "latency_ms": {"p50": value + 0.25, "p99": 1_000.0 * value},
        **{"recent": recent(value), "levels": levels, "options": {"hints": 1_000 * value, "repairs": 7}},
        "remote": {"sent": 1_000 * value, "failed_over": 2, "dropped": 3, "failed": 4},
        **{"peers": {"d": True, "c": False}, "server_troubles": ()},
        **changes,
    }


def zone(name: str, statistics: dict[str, Any] | None, *, state: str = "running", **changes: Any) -> dict[str, Any]:
    port = 7_400 + ord(name[0])
    coordinator = {"address": f"127.0.0.1:{port}", "admin": f"unix:{name}", "state": state}
    server = {"address": f"127.0.0.1:{port + 100}", "state": "running"}
    return {"zone": name, "coordinator": coordinator, "server": server, "statistics": statistics, **changes}


def link(name: str, **changes: Any) -> dict[str, Any]:
    return {"link": name, "lag": "2ms", "cut": None, "loss": 0, "duplicate": 0, "in_flight": 1_234, **changes}


def fault(name: str, *links: str, ends_in_s: float | None) -> dict[str, Any]:
    return {"fault": name, "links": links, "since_s": 12.34, "ends_in_s": ends_in_s}


def status(*zones: dict[str, Any], **changes: Any) -> dict[str, Any]:
    plain = {"data_centres": None, "lag": "1ms", "dc_lag": None, "level": "DC_QUORUM", "kind": "process"}
    rest = {"up_s": 3_661.4, "notices": [], "deviations": [], "links": [], "faults": []}
    return {**plain, **rest, "zones": list(zones), **changes}


WHOLE = status(
    zone("a", counted(1)),
    zone("b", counted(2, connected={"a": False}, server_troubles=("slow disk", "no room"))),
    zone("c", None, state="dead", server={"address": "127.0.0.1:1", "state": "paused"}),
    notices=["nobody is told of this"],
    deviations=[{"command": f"GET [{number}]", "zone": "a", "reply": "[x]", "times": 1_000} for number in range(14)],
    links=[
        link("a>b", cut="drop", loss=0.125, duplicate=0.5),
        link("b>a", in_flight=0),
    ],
    faults=[fault("kill c", ends_in_s=None), fault("cut a-b", "a>b", "b>a", ends_in_s=-1.0)],
)


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "150")

    def of(told: dict[str, Any], show: Any = print_status) -> str:
        show(told)
        return "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()).rstrip("\n")

    return of


SHOWN = """\
DC_QUORUM, lag 1ms, process zones, up for 3,661 s: totals since then
zone ┃ port ┃ coordinator ┃ server                      ┃ reaches ┃ clients ┃ commands ┃ errors ┃ divergent ┃ p50 ms ┃ p99 ms
━━━━━╇━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━
a    │ 7497 │ running     │ running                     │ a b     │       1 │    1,000 │     21 │        31 │   1.25 │  1,000
b    │ 7498 │ running     │ running, slow disk, no room │ none    │       2 │    2,000 │     22 │        32 │   2.25 │  2,000
c    │ 7499 │ dead        │ paused                      │ –       │       – │        – │      – │         – │      – │      –
The last 2.5 s
zone ┃ commands/s ┃ errors/s ┃ divergent/s ┃ p50 ms ┃ p99 ms
━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━
a    │      1,000 │        2 │           3 │      4 │    104
b    │      2,000 │        3 │           4 │      5 │    204
c    │          – │        – │           – │      – │      –
Votes
zone ┃ level  ┃ how they ended           ┃ commands ┃ errors ┃ late
━━━━━╇━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━╇━━━━━
a    │ DC_ONE │ one answer 1,000, most 3 │    2,000 │      4 │    5
b    │ DC_ONE │ one answer 2,000, most 3 │    4,000 │      8 │   10
Batches of writes for other data centres
node ┃ reaches coordinators ┃  sent ┃ failed over ┃ dropped ┃ failed
━━━━━╇━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━
a    │ d                    │ 1,000 │           2 │       3 │      4
b    │ d                    │ 2,000 │           2 │       3 │      4
c    │ –                    │     – │           – │       – │      –
What the options have done
zone ┃ done
━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━
a    │ hints 1,000, repairs 7
b    │ hints 2,000, repairs 7
c    │
What clients are not told
notice
━━━━━━━━━━━━━━━━━━━━━━
nobody is told of this
Errors and differing replies, by server, the first 12 of 14
command  ┃ zone ┃ reply ┃ times
━━━━━━━━━╇━━━━━━╇━━━━━━━╇━━━━━━
GET [0]  │ a    │ [x]   │ 1,000
GET [1]  │ a    │ [x]   │ 1,000
GET [2]  │ a    │ [x]   │ 1,000
GET [3]  │ a    │ [x]   │ 1,000
GET [4]  │ a    │ [x]   │ 1,000
GET [5]  │ a    │ [x]   │ 1,000
GET [6]  │ a    │ [x]   │ 1,000
GET [7]  │ a    │ [x]   │ 1,000
GET [8]  │ a    │ [x]   │ 1,000
GET [9]  │ a    │ [x]   │ 1,000
GET [10] │ a    │ [x]   │ 1,000
GET [11] │ a    │ [x]   │ 1,000
Links
link ┃ lag ┃ cut  ┃  loss ┃ duplicated ┃ in flight
━━━━━╇━━━━━╇━━━━━━╇━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━
a>b  │ 2ms │ drop │ 12.5% │      50.0% │     1,234
b>a  │ 2ms │ –    │     – │          – │         0
Faults in force
fault   ┃ links ┃ for s ┃ ends in s
━━━━━━━━╇━━━━━━━╇━━━━━━━╇━━━━━━━━━━
kill c  │     – │  12.3 │         –
cut a-b │     2 │  12.3 │         0"""  # noqa: E501


def test_a_cluster_is_shown_whole(shown: Any) -> None:
    assert shown(WHOLE) == SHOWN


NODES = """\
DC_QUORUM, lag 1ms, between data centres 80ms, process zones, up for 3,661 s: totals since then
dc  ┃ node ┃ port ┃ coordinator ┃ server  ┃ reaches     ┃ clients ┃ commands ┃ errors ┃ divergent ┃ p50 ms ┃ p99 ms
━━━━╇━━━━━━╇━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━
dc1 │ a1   │ 7497 │ running     │ running │ all 8       │       1 │    1,000 │     21 │        31 │   1.25 │  1,000
dc1 │ a2   │ 7497 │ running     │ running │ all but b g │       2 │    2,000 │     22 │        32 │   2.25 │  2,000
dc1 │ a3   │ 7497 │ running     │ running │ 5 of 8      │       3 │    3,000 │     23 │        33 │   3.25 │  3,000
dc1 │ a4   │ 7497 │ running     │ running │ none        │       4 │    4,000 │     24 │        34 │   4.25 │  4,000
dc2 │ b1   │ 7498 │ running     │ running │ –           │       – │        – │      – │         – │      – │      –
The last 4.5 s
dc  ┃ node ┃ commands/s ┃ errors/s ┃ divergent/s ┃ p50 ms ┃ p99 ms
━━━━╇━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━
dc1 │ a1   │      1,000 │        2 │           3 │      4 │    104
dc1 │ a2   │      2,000 │        3 │           4 │      5 │    204
dc1 │ a3   │      3,000 │        4 │           5 │      6 │    304
dc1 │ a4   │      4,000 │        5 │           6 │      7 │    404
dc2 │ b1   │          – │        – │           – │      – │      –
Batches of writes for other data centres
node ┃ reaches coordinators ┃  sent ┃ failed over ┃ dropped ┃ failed
━━━━━╇━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━
a1   │ d                    │ 1,000 │           2 │       3 │      4
a2   │ d                    │ 2,000 │           2 │       3 │      4
a3   │ d                    │ 3,000 │           2 │       3 │      4
a4   │ d                    │ 4,000 │           2 │       3 │      4
b1   │ –                    │     – │           – │       – │      –"""


ENDPOINTS = """\
dc  ┃ node ┃ clients connect to ┃ server         ┃ administration
━━━━╇━━━━━━╇━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━
dc1 │ a1   │ 127.0.0.1:7497     │ 127.0.0.1:7597 │ unix:a1
dc1 │ a2   │ 127.0.0.1:7497     │ 127.0.0.1:7597 │ unix:a2
dc1 │ a3   │ 127.0.0.1:7497     │ 127.0.0.1:7597 │ unix:a3
dc1 │ a4   │ 127.0.0.1:7497     │ 127.0.0.1:7597 │ unix:a4
dc2 │ b1   │ 127.0.0.1:7498     │ 127.0.0.1:7598 │ unix:b1"""


def test_a_cluster_of_several_data_centres_is_shown_by_node(shown: Any) -> None:
    nodes = [
        zone(f"a{number}", counted(number, levels={}, options={}, connected=connected), data_centre="dc1")
        for number, connected in enumerate(CONNECTED, start=1)
    ]
    silent = zone("b1", None, data_centre="dc2")
    told = status(*nodes, silent, data_centres=["dc1", "dc2"], dc_lag="80ms")
    assert shown(told) == NODES
    assert shown(told, print_endpoints) == ENDPOINTS


EIGHT = dict.fromkeys("hgfedcba", True)
CONNECTED = (EIGHT, {**EIGHT, "g": False, "b": False}, {**EIGHT, "g": False, "b": False, "c": False}, {"x": False})


def test_of_many_links_those_under_a_fault_are_shown_if_these_are_not_many(shown: Any) -> None:
    names = [f"l{number:02}" for number in range(43)]

    def titles(count: int, *at_fault: str) -> list[str]:
        links, faults = [link(name) for name in names[:count]], [fault("cut", *at_fault, ends_in_s=1.0)]
        return [str(table.title) for table in status_tables(status(zone("a", None), links=links, faults=faults))][2:]

    assert titles(42, "l07") == ["Links", "Faults in force"]
    assert titles(43, "l07", "l09") == ["Links under a fault, 2 of 43", "Faults in force"]
    assert titles(43, *names[:42]) == ["Links under a fault, 42 of 43", "Faults in force"]
    assert titles(43, *names) == titles(43) == ["Faults in force"]


def test_the_last_seconds_stand_in_a_line() -> None:
    assert recent_line(WHOLE) == (
        "3,661 s: a 1,000/s, 2 errors/s, p99 104 ms; b 2,000/s, 3 errors/s, p99 204 ms; c coordinator dead; "
        "kill c, cut a-b"
    )
    assert recent_line(status(zone("a", counted(1, recent=None)))) == "3,661 s: a coordinator running; no fault"
