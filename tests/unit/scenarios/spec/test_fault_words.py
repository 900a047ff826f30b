"""Goal: a fault in the words of ``zonelab fault`` is the fault of a scenario; what is no such words is one line.

Method: words and the fault they say, side by side; every kind of fault is said once.
"""

import pytest

from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.faults.catalogue import BESIDE_PROGRAMS
from zonelab.scenarios.spec.fault_words import faults_in_words

SAID = {
    "kill b for 5s": {"kind": "kill", "zone": "b", "at_s": 1.0, "for_s": 5.0},
    "kill b --restart warm --for 2s": {"kind": "kill", "zone": "b", "at_s": 1.0, "for_s": 2.0, "restart": "warm"},
    "pause a at 3s": {"kind": "pause", "zone": "a", "at_s": 3.0, "for_s": 5.0},
    "lag a:b 50ms for 1m": {"kind": "lag", "link": "a:b", "lag": "50ms", "at_s": 1.0, "for_s": 60.0},
    "lag all constant:5ms": {"kind": "lag", "lag": "constant:5ms", "at_s": 1.0, "for_s": 5.0},
    "loss 'a>b' 0.2": {"kind": "loss", "link": "a>b", "share": 0.2, "at_s": 1.0, "for_s": 5.0},
    "duplicate b 0.5 after-ms 3": {
        "kind": "duplicate", "zone": "b", "share": 0.5, "after_ms": 3, "at_s": 1.0, "for_s": 5.0,
    },
    "cut b": {"kind": "cut", "isolate": "b", "at_s": 1.0, "for_s": 5.0},
    "cut a>b mode hold": {"kind": "cut", "one_way": "a>b", "mode": "hold", "at_s": 1.0, "for_s": 5.0},
    "slow c 10": {"kind": "slow", "zone": "c", "factor": 10, "at_s": 1.0, "for_s": 5.0},
    "program_kill work zone b at 'LMOVE *' nonempty for 2s": {
        "kind": "program_kill", "program": "work", "zone": "b", "at": "LMOVE *", "nonempty": True,
        "at_s": 1.0, "for_s": 2.0,
    },
    "program_kill work cut restart false nonempty": {
        "kind": "program_kill", "program": "work", "cut": True, "restart": False, "nonempty": True,
        "at_s": 1.0, "for_s": 5.0,
    },
    "coordinator_crash a for 500ms": {"kind": "coordinator_crash", "zone": "a", "at_s": 1.0, "for_s": 0.5},
}  # fmt: skip

REFUSED = {
    "kill": "--fault: got 'kill'; accepted: KIND TARGET, such as 'kill b for 5s'",
    "kil b": f"--fault: 'kil b': got kind 'kil' (did you mean kill?); accepted: {', '.join(BESIDE_PROGRAMS)}",
    "kill b for": "--fault: 'kill b for': 'for' has no value; accepted: OPTION VALUE, at TIME, for TIME",
    "kill b soon 1": "--fault: 'kill b soon 1': got 'soon'; accepted: at, for, restart",
    "kill 'b": '--fault: got "kill \'b", with no closing quotation; accepted: words',
    "kill b for 5x": "duration: got '5x'; accepted: more than 0 and at most 31622400 s, such as 500ms, 10s, 2m, 1h",
}


@pytest.mark.parametrize("words", SAID)
def test_words_say_a_fault(words: str) -> None:
    assert faults_in_words([words]) == [SAID[words]]


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_no_fault_is_one_line(words: str) -> None:
    with pytest.raises(NotAccepted) as refused:
        faults_in_words([words])
    assert str(refused.value) == REFUSED[words]


def test_faults_that_do_not_say_when_come_one_after_the_other() -> None:
    times = [(one["at_s"], one["for_s"]) for one in faults_in_words(["kill b for 2s", "pause c", "cut b at 1s"])]
    assert times == [(1.0, 2.0), (4.0, 5.0), (1.0, 5.0)]
