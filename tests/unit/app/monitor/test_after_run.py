"""Goal: whoever looks at a run's page when the run is over sees its verdict, and has its report when nobody serves it.

Method: the page's last part alone, and Chromium.
"""

import asyncio
import json
import threading

import httpx
import pytest
from playwright.sync_api import expect
from support.app.browser import axe_results, chromium, opened
from support.programs import until

from zonelab.analysis.pages import REPORT_SCRIPTS, Script, environment
from zonelab.app.monitor.after_run import NOT_JUDGED, OVER, AfterRun, Ending
from zonelab.app.monitor.page import address_of
from zonelab.cluster.admin.serving import listening
from zonelab.scenarios.errors import NotAccepted

TOKEN = "t" * 32
HELLO = {"title": "Run of zone-crash at DC_ONE", "about": {"seed": 1}, "faultable": None}
SO_FAR = {"phase": "drain", "read_ms": 1, "operations": [], "messages": None}
SENTENCES = (
    "Something happened in this run that must not happen.",
    "12 of 400 accepted messages (3.0%) were lost (lost).",
)


def report():
    script = Script.of_templates(*REPORT_SCRIPTS)
    page = environment().from_string(
        "{% extends \"base.html\" %}{% block policy %}; script-src '{{ script.hash }}'{% endblock %}"
        "{% block body %}<h1>the report</h1>{% endblock %}"
        "{% block script %}<script>{{ script.text | safe }}</script>{% endblock %}"
    )
    return page.render(title="report", script=script)


def begun(*, looked=True):
    listener = listening("127.0.0.1", 0, what="the live page")
    made = AfterRun(listener, token=TOKEN, hello=HELLO, last={"now_ms": 1, "run": SO_FAR}, looked=looked)
    made.at = "http://{}:{}".format(*listener.getsockname())
    return made


@pytest.mark.chromium
@pytest.mark.parametrize("width", [1440, 390])
def test_the_page_goes_on_until_the_verdict_and_keeps_the_report_when_nobody_serves_it(width):
    after = begun()
    ending = Ending(word="invalid", sentences=SENTENCES, report="runs/zone-crash/1/report.html", html=report())
    with chromium() as browser, opened(browser, address_of(after.at, token=TOKEN), width=width) as page:
        expect(page.locator("#state")).to_have_text(OVER)
        after.phase = "plots"
        expect(page.locator("#run tbody tr").first).to_contain_text("plots")
        after.end(ending)
        expect(page.locator("#state")).to_have_text("The run has ended: invalid.")
        expect(page.locator("#state")).to_have_class("bad")
        assert page.locator("#verdict .rows p").all_text_contents() == list(SENTENCES)
        expect(page.locator("#report")).to_contain_text("runs/zone-crash/1/report.html")
        assert axe_results(page) == {"violations": [], "incomplete": []}
        complaints = []
        with page.context.expect_page() as opening:
            page.get_by_role("link", name="Open the report").click()
        kept = opening.value
        kept.on("console", lambda said: complaints.append(said.text))
        kept.reload()
        expect(kept.locator("h1")).to_have_text("the report")
        assert complaints == []
    with pytest.raises(httpx.TransportError):
        httpx.get(after.at, trust_env=False)


def test_a_page_that_comes_back_after_the_end_of_the_run_is_waited_for():
    after = begun()
    ending = threading.Thread(target=after.end, args=[NOT_JUDGED])
    ending.start()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=after.at, headers=headers, trust_env=False, timeout=60) as client:
        assert client.get("/events", headers={"Authorization": ""}).status_code == 401
        told = client.get("/events").text.split("\n\n")
    ending.join(60)
    assert told[-2].startswith("event: end\n")
    assert json.loads(told[-2].partition("data: ")[2])["word"] == "not judged"


def test_who_follows_a_message_is_told_where_to_look_now():
    after = begun(looked=False)
    with pytest.raises(NotAccepted, match="zonelab lens"):
        asyncio.run(after.find("queue", "dyno", "b-1"))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=after.at, headers=headers, trust_env=False, timeout=60) as client:
        until(lambda: client.get("/message").status_code == 409)
        client.get("/metrics").raise_for_status()
        after.end(NOT_JUDGED)
