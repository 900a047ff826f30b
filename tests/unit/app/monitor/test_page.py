"""Goal: the live page shows what it is told, says since when it is told nothing, and breaks what its buttons say.

Method: Chromium, and a cluster that the test plays behind the real application with its guard.
"""

import time
from dataclasses import replace

import httpx
import pytest
from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route
from support.app.browser import Served, axe_results, chromium, opened
from support.app.page_figures import OLD_MS, WITHIN_MS, Shown, readings, wrong

from zonelab.app.monitor.app import page_routes
from zonelab.app.monitor.feed import Feed
from zonelab.app.monitor.health import health_of
from zonelab.app.monitor.page import PAGE_PATH, address_of, policy
from zonelab.app.monitor.strips import LENGTH_MS, Strips
from zonelab.app.session.fault_requests import fault_forms
from zonelab.cluster.admin.guard import Guard

TOKEN = "t" * 32
XSS = "<img src=x onerror=alert(1)>"
INCOMPLETE = {390: ["color-contrast: elmPartiallyObscured", "color-contrast: shortTextContent"]}
"""By width, what axe-core leaves to a person: cells cut where their table scrolls, and those of one character."""


class Played:
    """Zone a of a cluster; ``commands`` and ``faults`` are what a page shows, ``posted`` what it asked for."""

    def __init__(self):
        self.commands = 41
        self.faults = []
        self.posted = []
        self.read_ms = None
        self.entries = self.yesterday = None
        self.samples = []
        self.strips = Strips()
        self.feed = Feed(self.read, period_s=0.05)
        self.port = 0

    def hello(self):
        return {
            "title": XSS,
            "about": {"level": "DC_QUORUM"},
            "faultable": {"kinds": fault_forms(), "places": ["a", "b"]},
        }

    async def read(self):
        now_ms = time.time_ns() // 1_000_000
        recent = dict.fromkeys(("operations_per_s", "errors_per_s", "divergent_per_s"), 1.5) | {
            "p50_ms": 2,
            "p99_ms": None,
        }
        told = {
            "connected": {"a": True, "b": False},
            "peers": {},
            "clients": 3,
            "over_memory": 2,
            "commands": self.commands,
            "errors": 0,
        }
        told |= {
            "divergence": 0,
            "server_troubles": [],
            "recent": recent,
            "levels": {},
            "zone_failures": {"b": {XSS: 2}},
        }
        running = {"state": "running"}
        zone = {"zone": "a", "server": running, "coordinator": running, "statistics": told}
        link = {"link": "a>b", "lag": "0", "loss": 0, "duplicate": 0, "cut": "drop", "in_flight": 1, "read_ms": now_ms}
        zones = [zone | {"read_ms": self.read_ms or now_ms}]
        self.strips.sample(now_ms, zones=[{"zone": "a", **recent}], faults=self.faults)
        told = {"now_ms": now_ms, "zones": zones, "links": [link], "faults": self.faults}
        told |= {"health": health_of(zones), "strips": self.strips.shown(now_ms)}
        return told if self.entries is None else {**told, "queues": [self.queue(now_ms)]}

    def queue(self, now_ms):
        """Of one key, in which there are more with each reading; ``yesterday``: the page has a number from before."""
        self.entries += 10
        self.samples.append((now_ms, self.entries))
        entries = self.entries if self.yesterday is None else self.yesterday
        key = {
            "key": "QUEUE",
            "holds": "queue",
            "shard": "a",
            "zone": "a",
            "entries": entries,
            "due": 0,
            "next_ms": None,
        }
        told = {"queue": "jobs", "engine": "dyno", "zones": [], "ids": None, "keys_left_out": 0}
        return {**told, "keys": [{**key, "read_ms": now_ms}]}

    def serve(self):
        async def posted(request):
            self.posted.append((request.url.path, await request.json() if await request.body() else None))
            return JSONResponse({"done": {"fault": "7:it"}})

        paths = ("/faults", "/faults/end", "/restart", "/heal")
        routes = [*page_routes(self, self.feed), *(Route(path, posted, methods=["POST"]) for path in paths)]
        guard = Middleware(Guard, token=TOKEN, reading_needs_token=True, open_to_all=[PAGE_PATH])
        served = Served(Starlette(routes=routes, middleware=[guard]), port=self.port)
        self.port = served.address.port
        return served


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def played():
    return Played()


@pytest.fixture
def served(played):
    made = played.serve()
    yield made
    made.close()


def address(served, token=TOKEN):
    return address_of(f"http://{served.address}", token=token)


def test_the_page_is_for_everybody_and_all_that_is_known_for_those_with_the_token(served):
    with httpx.Client(base_url=f"http://{served.address}", trust_env=False) as client:
        page = client.get("/")
        assert page.headers["content-security-policy"] == policy()
        assert (page.headers["cache-control"], page.headers["referrer-policy"]) == ("no-store", "no-referrer")
        assert "unsafe-inline" not in policy().partition("script-src")[2]
        assert client.get("/events").status_code == client.post("/heal").status_code == 401
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 403


@pytest.mark.chromium
def test_figures_change_in_place_with_the_time_when_they_were_read(browser, played, served):
    with opened(browser, address(served)) as page:
        commands = page.locator("#zones tr[data-key=a] td").nth(9)
        expect(commands).to_have_text("41")
        expect(page.locator("#zones tr[data-key=a] td").nth(3)).to_have_text("3 (2 closed: too much held)")
        assert (page.url, page.evaluate("sessionStorage.length")) == (f"http://{served.address}/", 1)
        assert page.locator("h1").text_content() == XSS
        page.evaluate("document.querySelector('#zones tr[data-key=a]').dataset.same = 'yes'")
        played.commands = 4200
        expect(commands).to_have_text("4,200")
        row = page.locator("#zones tr[data-key=a]")
        assert row.get_attribute("data-same") == "yes"
        assert abs(time.time() * 1e3 - float(row.get_attribute("data-read"))) < 60_000
        played.read_ms = round(time.time() * 1e3) - 86_400_000
        expect(row).to_have_class("old")
        page.reload()
        expect(commands).to_have_text("4,200")


@pytest.mark.chromium
def test_every_kind_of_fault_can_be_asked_for_with_its_own_fields_and_nothing_else(browser, played, served):
    with opened(browser, address(served)) as page:
        kinds = page.locator("#kind")
        expect(kinds).to_be_visible()
        wanted = {one["kind"]: [field["name"] for field in one["fields"]] for one in fault_forms()}
        found = {}
        for kind in kinds.locator("option").evaluate_all("all => all.map(one => [one.value, one.title])"):
            assert kind[1], kind
            kinds.select_option(kind[0])
            found[kind[0]] = page.locator("#fields [name]").evaluate_all("all => all.map(one => one.name)")
        assert found == {**wanted, "restart server": ["mode"], "restart coordinator": []}
        kinds.select_option("kill")
        page.get_by_role("button", name="begin").click()
        expect(page.locator("#faults .told")).to_have_text("begun: 7:it")
        assert played.posted == [("/faults", {"kind": "kill", "target": "a", "for_s": 10, "restart": "keep"})]


@pytest.mark.chromium
def test_the_page_says_who_is_in_trouble_and_draws_the_last_two_minutes(browser, played, served):
    now_ms = time.time_ns() // 1_000_000
    for ago_s in range(100, 0, -1):
        row = {"zone": "a", "operations_per_s": 10.0, "errors_per_s": 0.0, "p99_ms": None if ago_s > 50 else 3.0}
        fault = {"fault": "3:kill b", "since_s": 0.5} if 20 < ago_s < 40 else None
        played.strips.sample(now_ms - ago_s * 1_000, zones=[row], faults=[fault] if fault else [])
    with opened(browser, address(served)) as page:
        expect(page.locator("#health")).to_have_text("a cannot reach b")
        expect(page.locator("#health")).to_have_class("bad")
        expect(page.locator("#strips figure")).to_have_count(3)
        expect(page.locator("#bands")).to_have_text("Bands: 3:kill b.")
        band = page.locator("#strips figure rect").first.evaluate(
            "one => [one.x, one.width].map(of => of.baseVal.value)"
        )
        begun, lasted = (LENGTH_MS / 1_000 * part / 1_000 for part in band)
        assert (abs(begun - 80.5) < 15, abs(lasted - 19.5) < 1.5) == (True, True), band
        latency = page.locator("#strips figure", has_text="p99, ms").locator("polyline")
        assert len(latency.first.get_attribute("points").split()) >= 50


@pytest.mark.chromium
def test_the_page_says_since_when_nobody_answers_and_goes_on_when_somebody_does(browser, played, served):
    with opened(browser, address(served)) as page:
        expect(page.locator("#state")).to_contain_text("Live")
        port = served.address.port
        served.close()
        expect(page.locator("#state")).to_contain_text("Stale since")
        expect(page.locator("body")).to_have_class("stale")
        played.commands, played.feed = 99, Feed(played.read, period_s=0.05)
        again = played.serve()
        assert again.address.port == port
        try:
            expect(page.locator("#state")).to_contain_text("Live")
            expect(page.locator("#zones tr[data-key=a] td").nth(9)).to_have_text("99")
        finally:
            again.close()
        served.close = lambda: None


@pytest.mark.chromium
def test_who_has_no_token_is_told_where_to_find_it(browser, served):
    with opened(browser, address(served, token="wrong" * 8)) as page:
        expect(page.locator("#state")).to_contain_text("Open the address that zonelab printed")


def tab_to(page, control):
    """Press Tab until ``control``, in view, has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if control.evaluate("one => one === document.activeElement"):
            expect(control).to_be_in_viewport(ratio=0.9)
            return
    raise AssertionError(f"Tab does not reach {control}")


@pytest.mark.chromium
@pytest.mark.parametrize("width", [1280, 400])
def test_the_keyboard_breaks_ends_and_heals(browser, played, served, width):
    with opened(browser, address(served), width=width) as page:
        tab_to(page, page.locator("#kind"))
        page.keyboard.type("slow")
        expect(page.locator("#does")).to_contain_text("a zone's server slow")
        tab_to(page, page.get_by_label("where"))
        page.keyboard.type("b")
        tab_to(page, page.get_by_label("factor"))
        page.keyboard.type("4")
        tab_to(page, page.get_by_role("button", name="begin"))
        page.keyboard.press("Enter")
        expect(page.locator("#faults .told")).to_have_text("begun: 7:it")
        played.faults = [
            {"number": 7, "fault": "7:slow b", "since_s": 1.0, "ends_in_s": None, "links": []},
            {"number": 8, "fault": "8:cut a", "since_s": 1.0, "ends_in_s": 9.0, "links": ["a>b"]},
        ]
        expect(page.get_by_role("button", name="end 8:cut a")).to_be_visible()
        tab_to(page, page.get_by_role("button", name="end 8:cut a"))
        played.faults = [{**one, "since_s": 2.0} for one in played.faults]
        expect(page.locator("#faults tr[data-key='8:cut a'] td").first).to_have_text("2.0 s")
        page.keyboard.press("Enter")
        page.locator("#kind").select_option("lag")
        assert page.locator("#fields [name]").evaluate_all("all => all.map(one => one.name)") == ["lag"]
        tab_to(page, page.locator("#for"))
        page.keyboard.press("Delete")
        tab_to(page, page.get_by_role("button", name="begin"))
        page.keyboard.press("Enter")
        tab_to(page, page.get_by_role("button", name="heal"))
        page.keyboard.press("Enter")
        deadline_s = time.monotonic() + 30
        while len(played.posted) < 4 and time.monotonic() < deadline_s:
            page.wait_for_timeout(20)
        assert played.posted == [
            ("/faults", {"kind": "slow", "target": "b", "for_s": 10, "factor": 4}),
            ("/faults/end", {"number": 8}),
            ("/faults", {"kind": "lag", "target": "b", "lag": "constant:50ms"}),
            ("/heal", None),
        ]


@pytest.mark.chromium
@pytest.mark.parametrize("yesterday", [None, 40])
def test_a_number_that_was_not_so_at_the_time_it_names_is_found(browser, played, served, yesterday):
    played.entries = 0
    with opened(browser, address(served)) as page:
        next(readings(page, count=1))
        played.yesterday = yesterday
        while played.entries < 400 or played.samples[-1][0] < played.samples[0][0] + 3 * WITHIN_MS:
            page.wait_for_timeout(20)
        seen = [one for figures in readings(page, count=5) for one in figures]
    assert (wrong(seen, {("a", "QUEUE"): played.samples}) == []) is (yesterday is None)


def test_a_figure_that_is_old_and_does_not_say_so_is_found():
    fresh = Shown(key="QUEUE", server="a", entries=5, read_ms=1_000, now_ms=1_000 + OLD_MS, old=False)
    samples = {("a", "QUEUE"): [(0, 5), (5_000, 5)]}
    assert wrong([fresh, replace(fresh, now_ms=9_000, old=True)], samples) == []
    assert len(wrong([replace(fresh, now_ms=1_001 + OLD_MS)], samples)) == 1


@pytest.mark.chromium
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_window_and_no_label_is_torn(browser, played, served, width):
    played.entries = 0
    with opened(browser, address(served), width=width, dark=True) as page:
        expect(page.locator("#zones tr[data-key=a]")).to_be_visible()
        expect(page.get_by_role("button", name="follow")).to_be_visible()
        assert page.evaluate("[...document.querySelectorAll('label')].every(one => one.getClientRects().length === 1)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"


@pytest.mark.chromium
@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1440, True), (390, False), (390, True)])
def test_axe_finds_nothing_in_the_live_page(browser, played, served, width, dark):
    played.entries = 0
    played.faults = [{"number": 7, "fault": "7:slow b", "since_s": 1.0, "ends_in_s": None, "links": []}]
    with opened(browser, address(served), width=width, dark=dark) as page:
        expect(page.get_by_role("button", name="end 7:slow b")).to_be_visible()
        assert axe_results(page) == {"violations": [], "incomplete": INCOMPLETE.get(width, [])}
