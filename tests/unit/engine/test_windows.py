"""Every window in which a queue can go wrong ends as its page says, in each mode.

Method: a course of events is played on three simulated zones in each mode that has such a window, and what was seen is
compared with the page word for word. ``pytest -k`` with the name of a window plays one. Then mechanisms of hardened
mode are switched off, and courses that are about what they prevent must tell; those of one situation are in
dyno/hardened/test_queue.py and test_leases.py.
"""

import pytest
from support.windows.fifo import merged
from support.windows.gmq import HardenedGmqStage
from support.windows.gmq.hardened import COURSES as HARDENED_GMQ_COURSES
from support.windows.hardened import HARDENED_COURSES
from support.windows.hardened_stage import HardenedStage
from support.windows.page import DYNO, FIFO, GMQ, YOUZAN

from zonelab.engine.dyno.hardened import Hardening

PAGES = {"dyno": DYNO, "gmq": GMQ, "youzan": YOUZAN, "fifo": FIFO}
ROWS = {name: page.rows() for name, page in PAGES.items()}
NOT_PLAYED = "not played: "


@pytest.mark.parametrize(
    ("name", "mode", "window"),
    [(name, mode, window) for name, page in PAGES.items() for mode, plays in page.plays.items() for window in plays],
)
def test_a_window_ends_as_the_page_says(name, mode, window):
    assert PAGES[name].seen(window, mode) == ROWS[name][window][mode]


@pytest.mark.parametrize("name", PAGES)
def test_the_page_has_every_window_and_no_other_and_says_what_happens_in_each(name):
    page = PAGES[name]
    assert sorted(ROWS[name]) == sorted({window for plays in page.plays.values() for window in plays})
    assert [row[0] for row in page.table(page.text()) if not all(row)] == []


@pytest.mark.parametrize("name", PAGES)
def test_what_a_mode_does_not_play_has_a_reason(name):
    modes = PAGES[name].plays.items()
    told = [row[mode] for window, row in ROWS[name].items() for mode, plays in modes if window not in plays]
    assert [text for text in told if len(text.removeprefix(NOT_PLAYED)) in (0, len(text))] == []


def test_the_page_made_again_is_the_page():
    line = next(line for line in DYNO.text().splitlines(keepends=True) if "`race_two_pops`" in line)
    assert DYNO.with_what_is_seen(line) == line
    assert DYNO.with_what_is_seen(line.replace("the slower gets nothing", "both get it")) == line
    assert DYNO.with_what_is_seen("## Races\n") == "## Races\n"


@pytest.mark.parametrize(
    ("mechanism", "window"),
    [
        (Hardening.ANTI_ENTROPY, "zone_server_back_empty"),
        (Hardening.LEASE_PROOF, "vote_tie_of_two_pops_quorum"),
        (Hardening.TOMBSTONES, "lag_ack_not_there_yet_quorum"),
    ],
)
def test_a_mechanism_of_hardened_mode_that_is_off_shows(mechanism, window):
    assert HardenedStage(without=(mechanism,)).play(HARDENED_COURSES[window]) != ROWS["dyno"][window]["hardened"]


def test_delivery_tokens_that_hardened_gmq_lacks_show():
    stage, window = HardenedGmqStage(without=(Hardening.DELIVERY_TOKENS,)), "ack_after_redelivery"
    assert stage.play(HARDENED_GMQ_COURSES[window]) != ROWS["gmq"][window]["hardened"]


def test_phases_that_differ_in_more_than_numbers_are_told_apart():
    broken, whole = "hand-over {} ms; broken: I6 (zombie)", "hand-over {} ms; nothing broken"
    assert merged([broken.format(5), broken.format(-7)]) == broken.format("-7 to 5")
    told = merged([broken.format(5), whole.format(6), whole.format(6)])
    assert told == f"1 of 3: {broken.format(5)}. 2 of 3: {whole.format(6)}"


def test_a_row_that_says_otherwise_is_found():
    row, told = "| `race_two_pops` | what | predicted | {} | the same | – |", ROWS["dyno"]["race_two_pops"]
    assert DYNO.rows(row.format("both get it"))["race_two_pops"]["default"] != DYNO.seen("race_two_pops", "default")
    assert DYNO.rows(row.format(told["original"]))["race_two_pops"] == {**told, "hardened": "–"}
