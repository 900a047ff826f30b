"""Goal: texts have the hash that Java gives them. Method: values of ``String.hashCode``."""

import pytest

from zonelab.engine.common.java_hash import java_string_hash


@pytest.mark.parametrize(
    ("text", "value"),
    [("", 0), ("1", 49), ("hello", 99162322), ("polygenelubricants", -(2**31)), ("é", 233), ("\U0001f600", 1772899)],
)
def test_the_hash_is_that_of_java(text, value):
    assert java_string_hash(text) == value
