"""Goal: figures of a coordinator that falls silent keep their time, and a link is shown as its source has it.

Method: an administration that the test plays, and its clock.
"""

import asyncio
import time

import httpx

from zonelab.app.monitor.coordinators import ASK_S, CoordinatorsPage, figures_of, links_of
from zonelab.app.monitor.readings import GaugeReading

S = 1_000_000_000
STATISTICS = {name: {} for name in ("connected", "peers", "recent", "levels", "zone_failures", "deviations")}
STATISTICS |= dict.fromkeys(("remote", "divergence", "server_troubles", "repairs", "options"), 0)
STATISTICS |= {
    "port": {"clients": 1, "commands": 7, "error_replies": 0, "over_memory": 2},
    "latency": {"quantiles_ms": {}},
    "links": [],
    "unknown_scripts": {"b": {"times": 1, "since_utc": "noon"}},
}


def test_a_coordinator_that_falls_silent_is_said_to_and_its_figures_keep_their_time(monkeypatch):
    now_ns, status, client = 100 * S, 200, httpx.AsyncClient
    played = httpx.MockTransport(lambda _: httpx.Response(status, json=STATISTICS))
    monkeypatch.setattr(httpx, "AsyncClient", lambda **_: client(transport=played))
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)

    async def looked():
        nonlocal now_ns, status
        page = CoordinatorsPage({"a": "http://a"}, {})
        while (before := (await page.read())["zones"][0])["read_ms"] is None:
            pass
        now_ns, status = now_ns + round((ASK_S + 1) * S), 500
        told = await page.read()
        return before, told["zones"][0], told["notices"]

    before, after, notices = asyncio.run(looked())
    assert (before["coordinator"]["state"], before["read_ms"]) == ("running", 100_000)
    assert (after["coordinator"]["state"], after["read_ms"]) == ("silent", 100_000)
    assert [notice.partition(":")[0] for notice in notices] == ["Zone b answered NOSCRIPT once since noon"]
    assert (after["statistics"]["commands"], after["statistics"]["over_memory"]) == (7, 2)


def test_a_link_is_shown_as_its_source_has_it_with_what_is_under_way_in_both():
    def reading(lag):
        return GaugeReading({"links": [{"link": "a>b", "lag": lag, "in_flight": 2}]}, 5 * S)

    for zones in ("ab", "ba"):
        readings = {zone: reading(f"as {zone} has it") for zone in zones}
        (link,) = links_of(readings, lambda time_ns: time_ns // 1_000_000)
        assert link == {"link": "a>b", "lag": "as a has it", "in_flight": 4, "read_ms": 5_000}


def test_links_are_shown_in_order_with_the_earliest_known_end_of_each():
    def link(name, value):
        return {"link": name, "lag": str(value), "in_flight": value}

    readings = {
        "c": GaugeReading({"links": [link("c>a", 1), link("b>c", 2)]}, 3 * S),
        "a": GaugeReading({"links": [link("c>a", 10), link("a>b", 20)]}, 1 * S),
    }
    assert links_of(readings, lambda time_ns: time_ns // S) == [
        {"link": "a>b", "lag": "20", "in_flight": 20, "read_ms": 1},
        {"link": "b>c", "lag": "2", "in_flight": 2, "read_ms": 3},
        {"link": "c>a", "lag": "1", "in_flight": 11, "read_ms": 3},
    ]


def test_figures_are_those_of_the_answer_without_levels_that_had_no_command():
    kept = ("peers", "remote", "divergence", "server_troubles", "repairs", "options", "recent", "zone_failures")
    same = {name: f"the {name}" for name in (*kept, "connected", "deviations", "unknown_scripts")}
    levels = {name: {"commands": number, "error_answers": 7} for number, name in enumerate(("DC_ONE", "DC_QUORUM"))}
    port = {"clients": 3, "commands": 4, "error_replies": 6, "over_memory": 5}
    told = figures_of({**same, "levels": levels, "port": port, "latency": {"quantiles_ms": {"p50": 1}}})
    assert told == {
        **same,
        **{"clients": 3, "commands": 4, "over_memory": 5, "errors": 6 + 7 + 7, "latency_ms": {"p50": 1}},
        "levels": {"DC_QUORUM": {"commands": 1, "error_answers": 7}},
    }


def test_a_zone_is_reached_if_its_coordinator_says_so(monkeypatch):
    client = httpx.AsyncClient

    def answered(request):
        return httpx.Response(200, json={**STATISTICS, "connected": {"a": True, "b": False}})

    monkeypatch.setattr(httpx, "AsyncClient", lambda **_: client(transport=httpx.MockTransport(answered)))

    async def looked():
        page = CoordinatorsPage({name: f"http://{name}" for name in "bac"}, {})
        told = await page.read()
        while any(zone["read_ms"] is None for zone in told["zones"]):
            told = await page.read()
        return page.hello(), told["zones"]

    hello, zones = asyncio.run(looked())
    assert [(zone["zone"], zone["server"]["state"]) for zone in zones] == [
        *(("b", "not reached"), ("a", "running"), ("c", "not reached"))
    ]
    assert hello == {"title": "Coordinators of b, a, c", "about": {}, "faultable": None}
