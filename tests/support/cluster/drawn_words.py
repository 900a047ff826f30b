"""Words of commands as Hypothesis draws them, good and bad ones, and ways to put them together."""

from hypothesis import strategies as st

keys = st.sampled_from(["a", "b", "c", "d", "e"])
members = st.sampled_from(
    ["x", "y", "z", "", "xx", "10", "-3", "0.5", "3.0e3", b"\x00\xff", "é", " 7", "9223372036854775807"]
)
values = members | st.integers().map(str) | st.binary(max_size=8)
sizes = st.integers(-6, 6) | st.sampled_from(
    [2**62, 2**63 - 1, -(2**63), 2**63, "x", "", "1.0", "+1", "01", " 1", "-0"]
)
good_scores = (
    st.integers(-4, 4)
    | st.floats(allow_nan=False)
    | st.integers(10**12, 2 * 10**12).flatmap(lambda ms: st.integers(0, 99).map(lambda priority: ms + priority / 100.0))
    | st.sampled_from(["inf", "-inf", "+Inf", "1e5", "-0", ".5", "5.", "4611686018427387904", "1e17", "1e-7"])
)
scores = st.one_of(
    good_scores, good_scores, st.sampled_from(["nan", "x", "", "1_0", "0x10", " 1", "1e400", "1e-400", "١"])
)
bounds = st.one_of(
    good_scores,
    good_scores.map(lambda score: f"({score}"),
    st.sampled_from(["-inf", "+inf", "(inf", "(-inf", "", "(", "x", "((1", "nan", "1e400", "-1e400"]),
)
lex_bounds = st.sampled_from(["-", "+", "[x", "(x", "[y", "(z", "[", "(", "x", "", "[xx", "++"])
ranks = st.integers(-7, 7) | st.sampled_from(["x", 2**63 - 1, -(2**63)])
times = st.sampled_from([5 * 10**6, 10**6, 0, -1, -(10**6), "x", 2**63 - 1, -(2**63), 2**62, "1.5"])
patterns = st.sampled_from(["*", "?", "[a-c]", "[^a]", "a*", "\\a", "[", "[a", "", "**", "x?", "[c-a]", "[^", "*é*"])


def words(*parts):
    """One command from strategies and fixed words; a list among the parts stands for its words."""
    made = [part if isinstance(part, st.SearchStrategy) else st.just(part) for part in parts]
    return st.tuples(*made).map(
        lambda command: tuple(word for part in command for word in (part if isinstance(part, list) else [part]))
    )


def some(*parts, most=3, least=1):
    """``least`` to ``most`` times the parts in turn, as one list."""
    return st.lists(words(*parts), min_size=least, max_size=most).map(
        lambda groups: [w for group in groups for w in group]
    )


def maybe(*parts):
    return st.just([]) | words(*parts).map(list)


def flags(*names):
    """A few of the flags, in any letter case and order."""
    return st.lists(st.sampled_from([*names, *(name.lower() for name in names)]), max_size=3)
