"""Goal: a sentence about one case speaks of one. Method: each class of every checker, with one case and with two."""

import re

import pytest

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.checkers.verdict import CLASSES

SEVERAL = re.compile(r"\b(1 (times|messages|deliveries|copies|entries)|were|they|their|them)\b")


@pytest.mark.parametrize("name", CLASSES)
def test_one_case_is_told_in_the_singular_and_several_in_the_plural(name: str):
    told = [CLASSES[name].told(count, of_accepted=f"{count} of 9 accepted messages") for count in (1, 2)]
    assert not SEVERAL.search(told[0].replace(CLASSES[name].summary, "")), told[0]
    assert told[0] != told[1]


class Planted(CaseClass):
    SHOWN = "shown", "", "{count} deliveries were odd, and nobody saw them"


def test_words_of_one_case():
    assert Planted.SHOWN.told(1) == "1 delivery was odd, and nobody saw it"
    assert Planted.SHOWN.told(1_200) == "1,200 deliveries were odd, and nobody saw them"
