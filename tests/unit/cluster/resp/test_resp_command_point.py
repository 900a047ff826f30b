"""Goal: a point says which command is meant, and what is no point is refused."""

import pytest

from zonelab.cluster.resp.programs.point import CommandPoint
from zonelab.cluster.resp.protocol import wire


@pytest.mark.parametrize(
    ("pattern", "command", "fits"),
    [
        ("LMOVE * *active*", "lmove q:wait q:active:1 LEFT RIGHT", True),
        ("LMOVE * *active*", "LMOVE q:wait q:done LEFT RIGHT", False),
        ("LMOVE * *active*", "LMOVE q:wait", False),
        ("*pop q?", "BRPOP q1 0", True),
        ("*pop q?", "BRPOP qq1 0", False),
        ("EVALSHA", "EVALSHA 0 0", True),
    ],
)
def test_a_pattern_is_a_glob_for_each_of_the_first_words(pattern, command, fits):
    assert CommandPoint(at=pattern).matches(wire.command(*command.encode().split())) is fits


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"at": " "}, "accepted: 1 to 32 words"),
        ({"at_command": 0}, "greater than or equal to 1"),
        ({"nonempty": True}, "nonempty needs when: applied or replied"),
    ],
)
def test_what_is_no_point_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        CommandPoint(**wrong)
