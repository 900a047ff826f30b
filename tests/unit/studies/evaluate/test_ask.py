"""Goal: eight answers at the terminal make a rollout that loads, and what cannot be taken is refused at once.

Method: the command line with answers in place of a keyboard.
"""

import io
import re
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml
from support.app.commands import Done, zonelab_here

from zonelab.studies.evaluate.answers import QUESTIONS, answers_of
from zonelab.studies.evaluate.asked_file import asked_text
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.evaluate.template_text import TEMPLATE, WrittenValue, filled

OWN = (
    "a b c",
    "a-b 0.8 4, c-b 1.1 9, a-c 2.4 20",
    "120",
    "about 150ms, 5% 40s",
    "aof-everysec",
    "zone 20min 2, restart 10s weekly, flap 30s weekly",
    "losses == 0, duplicates < 1e-4, p99(push) < 30ms, p99(push) < 30ms with any one zone down",
    "DC_QUORUM DC_SAFE_QUORUM default hardened 30s 60s",
)


class Keyboard(io.StringIO):
    """A terminal at which some lines are typed, and then Ctrl-C."""

    def isatty(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> str:
        line = super().readline(-1 if size is None else size)
        if line == "^C":
            raise KeyboardInterrupt
        return line


def asked(folder: Path, *typed: str, end: str = "") -> Done:
    with patch("sys.stdin", Keyboard("".join(f"{line}\n" for line in typed) + end)):
        return zonelab_here("new", "rollout", "--ask", cwd=folder)


def test_the_answers_make_a_commented_file_that_is_the_rollout_asked_for(tmp_path: Path):
    done = asked(tmp_path, *OWN)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"^\d of 8\.", done.stdout, re.MULTILINE) == [f"{place} of 8." for place in range(1, 9)]
    rollout = Rollout.load(str(tmp_path / "rollout.yaml"))
    base = rollout.scenario
    assert base.links.overrides["b>c"] == base.links.overrides["c>b"] == "lognormal:0.55ms:4.5ms"
    assert (base.load.rate_per_s, base.persistence) == (40, "aof-everysec")
    assert base.consumers.processing == "0.95*lognormal:150ms:300ms + 0.05*constant:40s"
    assert 120 * (0.95 * 0.15 + 0.05 * 40) < 2 * base.consumers.per_zone < 160 * 2.15, "two zones can do it all"
    assert base.drain.bound_s > 60 + 40
    assert len(rollout.settings) == 2 * 2 * 2
    assert {one.scenario.queue.unack_ms for one in rollout.settings} == {30_000, 60_000}
    kinds = [rollout.evaluate.faults[one.name].fault[0].fault["kind"] for one in rollout.year.faults]
    assert kinds == ["zone_outage", "kill", "flap"]
    assert [(one.per_year, one.lasts_s) for one in rollout.year.faults] == [(2, 1200), (52, 10), (52, 30)]
    assert [str(one) for one in rollout.evaluate.objectives] == OWN[6].replace("1e-4", "100/million").split(", ")
    lines = (tmp_path / "rollout.yaml").read_text().splitlines()
    plain = [line for line in lines if re.match(r" *[\w.]+: \S", line) and "#" not in line]
    assert all(re.match(r"name|    (level|queue\.)|      fault", line) for line in plain), plain


def test_enter_alone_takes_each_default(tmp_path: Path):
    done = asked(tmp_path, *[""] * len(QUESTIONS))
    assert done.returncode == 0
    assert (tmp_path / "rollout.yaml").read_text() == asked_text([])


@pytest.mark.parametrize("given", [0, 1, 7])
def test_ctrl_c_and_the_end_of_the_input_write_nothing(given: int, tmp_path: Path):
    for end, code, words in (("^C", 2, "interrupted"), ("", 64, "--ask: the input ended before the last answer")):
        done = asked(tmp_path, *OWN[:given], end=end)
        assert (done.returncode, done.stderr.startswith(f"zonelab: {words}")) == (code, True)
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_it_says_so_in_one_line(tmp_path: Path):
    with patch("sys.stdin", io.StringIO("a b c\n")):
        done = zonelab_here("new", "rollout", "--ask", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (64, "", 1)
    assert done.stderr.startswith("zonelab: --ask needs a terminal")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "text", "told"),
    [
        (0, "a A", "topology.zones[1]: got 'A'; accepted: a zone name"),
        (0, "a a", "got ['a', 'a']; accepted: 1 to "),
        (1, "a-b 1 2", "got none for a-c, b-c; accepted: one for each pair"),
        (1, "a-x 1 2", "lag: got 'a-x 1 2'; accepted: [PAIR] MEDIAN P99"),
        (1, "9ms 1ms", "needs median <= p99"),
        (1, "soon", "time: got 'soon'; accepted: a number with us, ms"),
        (2, "0", "jobs a second: got '0'; accepted: a number above 0"),
        (2, "a 80 x 3", "jobs a second: got 'a 80 x 3'"),
        (3, "150ms, 5 40s", "work: got '5 40s'; accepted: SHARE% TIME"),
        (3, "1s, 60% 2s, 50% 3s", "accepted: shares below 100% together"),
        (3, "0", "work: got '0'; accepted: TIME"),
        (4, "aof", "persistence: got 'aof'"),
        (5, "zone 20min", "outages: got 'zone 20min'; accepted: KIND LENGTH TIMES-A-YEAR"),
        (5, "restrt 10s 5", "(did you mean restart?)"),
        (5, "zone soon 5", "duration: got 'soon'"),
        (5, "zone 20min often", "outages: got 'often' times a year; accepted: a number, or daily"),
        (5, "zone 300h 50", "at most half of the year with a fault"),
        (6, "p99(push) < 30ms with rain", "objectives: got the outage 'rain'; accepted: any one zone down"),
        (6, "p99(push) <", "got 'p99(push) <'"),
        (7, "DC_QUORM", "(did you mean DC_QUORUM?)"),
    ],
)
def test_an_answer_that_cannot_be_taken_is_refused_and_asked_for_again(
    place: int, text: str, told: str, tmp_path: Path
):
    done = asked(tmp_path, *OWN[:place], text, *OWN[place:])
    assert told in done.stdout
    assert (done.returncode, (tmp_path / "rollout.yaml").read_text()) == (0, asked_text(OWN))


def test_one_zone_and_no_outage_make_a_rollout_too():
    document = yaml.safe_load(asked_text(["a", "2", "9", "exponential:20ms", "none", "none", "losses < 1%", "30s"]))
    assert (document["evaluate"]["faults"], document["evaluate"]["vary"]) == ({}, {})
    assert document["consumers"]["processing"] == "exponential:20ms"
    assert answers_of(["2", "1", "a 3"]).rates_per_s == {"a": 3, "b": 0}


def test_a_value_takes_the_place_of_one_line_and_of_what_is_below_it():
    text = filled({"links.lag": WrittenValue("9ms"), "evaluate.faults": WrittenValue("{}", "none")}, made_by="Me.")
    before, after = yaml.safe_load(TEMPLATE.read_text()), yaml.safe_load(text)
    assert after["links"].pop("lag") == "9ms"
    assert after["evaluate"].pop("faults") == {}
    assert before["links"].pop("lag")
    assert before["evaluate"].pop("faults")
    assert before == after
    assert "9ms                            # one way between zones" in text
    with pytest.raises(KeyError, match=r"links\.lags"):
        filled({"links.lags": WrittenValue("9ms")}, made_by="Me.")


def test_a_full_disk_is_asked_about_where_servers_write_files() -> None:
    with pytest.raises(
        ValueError, match="outages: got 'disk 10s 2'; accepted: disk with a persistence other than none"
    ):
        answers_of(["3", "1ms", "9", "5ms", "none", "disk 10s 2"])
    (outage,) = answers_of(["3", "1ms", "9", "5ms", "rdb", "disk 10s 2"]).outages
    assert (outage.name, outage.lasts_s) == ("a disk is full", 10.0)
