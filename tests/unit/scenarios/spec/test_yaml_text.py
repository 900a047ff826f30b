"""Goal: no YAML takes long or much memory to read, and what cannot be meant is refused with its place.

Method: texts at and beyond each bound, in one line; values that the versions of YAML take differently, there and back.
"""

import pytest

from zonelab.analysis.yaml_text import DEPTH_MAX, DIGITS_MAX, REPEATED_MAX, TEXT_MAX, NotYaml, read_yaml, write_yaml

BILLIONS = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))]
)

REFUSED = {
    BILLIONS: rf"line 5, column \d+: got aliases for more than {REPEATED_MAX} values",
    "a: &a [1]\nb: &b {<<: {c: *b}}": r"line 2, column 16: got alias \*b within its own value",
    "[" * 3_000: f"line 1, column {DEPTH_MAX + 1}: got lists and mappings {DEPTH_MAX + 1} deep",
    "- " * 100_000: f"got lists and mappings {DEPTH_MAX + 1} deep",
    "x: " + "9" * 400: f"line 1, column 4: got a number of 400 digits; accepted: at most {DIGITS_MAX}",
    "x: -0x" + "f" * 5_000: "got a number of 5002 digits",
    "a: 1\nb: {c: 1, c: 2}": r"line 2, column 11: got key 'c' twice; accepted: once",
    'a: 1\n"a": 2': "got key 'a' twice",
    "!!timestamp 2026-01-01 25:00:00": "line 1, column 1: not valid YAML: ",
    "!!bool maybe": "not valid YAML: ",
    "x: \udcff": "not valid YAML: ",
    "x" * (TEXT_MAX + 1): f"got {TEXT_MAX + 1} characters; accepted: at most {TEXT_MAX}",
}


@pytest.mark.parametrize(("text", "told"), REFUSED.items(), ids=range(len(REFUSED)))
def test_what_is_beyond_a_bound_or_means_nothing_is_refused_in_one_line(text: str, told: str):
    with pytest.raises(NotYaml, match=told) as error:
        read_yaml(text)
    assert "\n" not in str(error.value)


def test_aliases_within_the_bound_stand_for_what_they_name():
    kill = {"kind": "kill", "for_s": 1}
    assert read_yaml("a: &a {kind: kill, for_s: 1}\nb: [*a, {<<: *a, for_s: 2}]\n") == {
        "a": kill,
        "b": [kill, {**kill, "for_s": 2}],
    }
    many = "a: &a [1]\nb: [" + ", ".join(["*a"] * (REPEATED_MAX // 2)) + "]"
    assert len(read_yaml(many)["b"]) == REPEATED_MAX // 2


def test_lists_may_be_as_deep_as_the_bound():
    assert read_yaml("[" * (DEPTH_MAX - 1) + "1" + "]" * (DEPTH_MAX - 1)) is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e9", 1e9),
        ("1e-3", 0.001),
        ("2.5E+2", 250.0),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1_000", 1000),
        ("-.inf", float("-inf")),
        ("12:30", "12:30"),
        ("2026-01-01 25:00:00", "2026-01-01 25:00:00"),
        ("1e", "1e"),
        ("0x", "0x"),
        ("9" * DIGITS_MAX, int("9" * DIGITS_MAX)),
    ],
)
def test_numbers_are_those_of_yaml_1_2(text: str, value: object):
    read = read_yaml(text)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    "text", ["1e9", "010", "0o10", "12:30", "2026-01-01", "yes", "~", "", "a: b", "*a", "-", ".inf"]
)
def test_a_text_stays_a_text_when_it_is_written(text: str):
    assert read_yaml(write_yaml({text: [text, {"x": text}]})) == {text: [text, {"x": text}]}


@pytest.mark.parametrize("value", [1e-5, 1e300, 0.1, -3.0, 10**29, True, None, [], {}])
def test_any_value_is_read_back_as_it_was_written(value: object):
    assert repr(read_yaml(write_yaml(value))) == repr(value)


def test_a_list_that_is_there_twice_is_written_twice():
    one = [1]
    assert "&" not in write_yaml({"a": one, "b": one})
