"""Every window of gmq and of the Youzan queue ends as its page says, in each mode.

Method: that of ``tests/unit/engine/dyno/v1/test_windows.py``: a course of events on three simulated zones, compared
with the page word for word.
"""

import pytest
from support.windows.gmq import HardenedGmqStage
from support.windows.gmq.hardened import COURSES as HARDENED_COURSES
from support.windows.page import GMQ, YOUZAN

from engine.dyno.hardened import Hardening

PAGES = {"gmq": GMQ, "youzan": YOUZAN}
NOT_PLAYED = "not played: "


@pytest.fixture(params=PAGES)
def page(request):
    return PAGES[request.param]


@pytest.mark.parametrize(
    ("name", "mode", "window"),
    [(name, mode, window) for name, page in PAGES.items() for mode, plays in page.plays.items() for window in plays],
)
def test_a_window_ends_as_the_page_says(name, mode, window):
    assert PAGES[name].seen(window, mode) == PAGES[name].rows()[window][mode]


def test_the_page_has_every_window_and_no_other(page):
    assert sorted(page.rows()) == sorted(page.plays["original"] | page.plays["default"])
    assert [row[0] for row in page.table(page.text()) if not all(row)] == []


def test_what_a_mode_does_not_play_has_a_reason(page):
    told = [row[mode] for name, row in page.rows().items() for mode, plays in page.plays.items() if name not in plays]
    assert [text for text in told if len(text.removeprefix(NOT_PLAYED)) in (0, len(text))] == []


def test_delivery_tokens_that_hardened_gmq_lacks_show():
    stage = HardenedGmqStage(without=(Hardening.DELIVERY_TOKENS,))
    assert stage.play(HARDENED_COURSES["ack_after_redelivery"]) != GMQ.rows()["ack_after_redelivery"]["hardened"]
