"""Every window in which dyno-queues can go wrong ends as docs/dyno-windows.md says, in each of the three modes.

Method: each course of events is played on three simulated zones, once in each mode of V1 and, where there is such a
window, in hardened mode, and what was seen is compared with the page word for word. ``pytest -k`` with the name of a
window plays one. Then mechanisms are switched off, and courses that are about what they prevent must tell; those of
one situation are in hardened/test_queue.py and test_leases.py.
"""

import pytest
from support.windows import COURSES
from support.windows.hardened import HARDENED_COURSES
from support.windows.hardened_stage import HardenedStage
from support.windows.page import DYNO, MODES

from engine.dyno.hardened import Hardening

NOT_PLAYED = "not played: "
ROWS = DYNO.rows()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("window", COURSES)
def test_a_window_ends_as_the_page_says(window, mode):
    assert DYNO.seen(window, mode) == ROWS[window][mode]


@pytest.mark.parametrize("window", HARDENED_COURSES)
def test_hardened_mode_ends_as_the_page_says(window):
    assert DYNO.seen(window, "hardened") == ROWS[window]["hardened"]


def test_what_hardened_mode_does_not_play_has_a_reason():
    assert [name for name in HARDENED_COURSES if name not in COURSES] == []
    rest = {name: row["hardened"] for name, row in ROWS.items() if name not in HARDENED_COURSES}
    assert [name for name, text in rest.items() if len(text.removeprefix(NOT_PLAYED)) in (0, len(text))] == []


def test_the_page_has_every_window_and_no_other():
    assert sorted(ROWS) == sorted(COURSES)


def test_every_row_says_what_happens_and_what_reading_predicts():
    assert [row[0] for row in DYNO.table(DYNO.text()) if not all(row)] == []


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
    assert HardenedStage(without=(mechanism,)).play(HARDENED_COURSES[window]) != ROWS[window]["hardened"]


def test_a_row_that_says_otherwise_is_found():
    row = "| `race_two_pops` | what | predicted | {} | the same | – |"
    assert DYNO.rows(row.format("both get it"))["race_two_pops"]["default"] != DYNO.seen("race_two_pops", "default")
    assert DYNO.rows(row.format(ROWS["race_two_pops"]["original"]))["race_two_pops"] == {
        **ROWS["race_two_pops"],
        "hardened": "–",
    }
