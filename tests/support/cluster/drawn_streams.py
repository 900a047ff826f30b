"""Commands on streams as Hypothesis draws them. None depends on the clock, since two servers have two."""

from hypothesis import strategies as st
from support.cluster.drawn_words import flags, keys, maybe, members, sizes, some, values, words

entry_ids = st.one_of(
    st.tuples(st.integers(0, 4), st.integers(0, 3)).map("{0[0]}-{0[1]}".format),
    st.integers(0, 4).map(str),
    st.sampled_from(
        ["0-0", "0", "2-1", "3-0", "9", "18446744073709551615-18446744073709551614", "18446744073709551615"]
    ),
    st.sampled_from(
        ["-", "+", "$", ">", "", "(", "(1-1", "x", "1-x", "1--1", "1- -5", "01-1", " 1-1", "18446744073709551616"]
    )
    | st.sampled_from(["5-*", "0-*", "1-1-1", b"1-1\x00x", "1" * 130]),
)
id_bounds = (
    st.sampled_from(["-", "+"])
    | entry_ids
    | entry_ids.map(lambda entry: f"({entry}" if isinstance(entry, str) else entry)
)
groups = st.sampled_from(["g", "g", "g", "h", ""])
consumers = st.sampled_from(["c", "c", "d", b"\x00\xff"])
idle_times = st.sampled_from([0, 0, 10**6, 10**9, -1, "x"])
trims = words(
    st.sampled_from(["MAXLEN", "maxlen"]),
    st.sampled_from([[], ["~"], ["="]]),
    sizes | st.integers(0, 3),
    maybe("LIMIT", sizes),
) | words("MINID", st.sampled_from([[], ["~"], ["="]]), entry_ids, maybe("LIMIT", sizes))
counts = maybe("COUNT", sizes) | maybe("count", st.integers(1, 3))
entries_read = maybe("ENTRIESREAD", sizes)


def of_streams(*options, ids):
    """XREAD or XREADGROUP of one or two keys, each with an id."""
    return words(*options, "STREAMS", keys, ids) | words(*options, "STREAMS", keys, keys, ids, ids)


STREAMS = st.one_of(
    words("XADD", keys, st.integers(1, 9).map("{}-*".format), some(members, values)),
    words(
        "XADD",
        keys,
        maybe("NOMKSTREAM"),
        trims.map(list) | st.just([]),
        entry_ids,
        some(members, values),
        maybe(members),
    ),
    words("XTRIM", keys, trims.map(list)),
    words(st.sampled_from(["XDEL", "XLEN"]), keys, some(entry_ids, least=0)),
    words(st.sampled_from(["XRANGE", "XREVRANGE"]), keys, id_bounds, id_bounds, counts),
    of_streams("XREAD", counts, maybe("BLOCK", st.sampled_from([1, -1, "x"])), ids=entry_ids),
    of_streams("XREADGROUP", "GROUP", groups, consumers, counts, flags("NOACK"), ids=st.just(">") | entry_ids),
    words("XACK", keys, groups, some(entry_ids)),
    words("XPENDING", keys, groups),
    words("XPENDING", keys, groups, maybe("IDLE", idle_times), id_bounds, id_bounds, sizes, maybe(consumers)),
    words(
        *("XCLAIM", keys, groups, consumers, idle_times, some(entry_ids)),
        some(
            st.sampled_from(["FORCE", "JUSTID", "x"])
            | words("IDLE", idle_times).map(list)
            | words("TIME", st.sampled_from([-1, 10**15, "x"])).map(list)
            | words("RETRYCOUNT", sizes).map(list)
            | words("LASTID", entry_ids).map(list),
            least=0,
        ),
    ),
    words("XAUTOCLAIM", keys, groups, consumers, idle_times, id_bounds, counts, flags("JUSTID")),
    words("XGROUP", "CREATE", keys, groups, st.sampled_from(["0", "$"]) | entry_ids, flags("MKSTREAM"), entries_read),
    words("XGROUP", "SETID", keys, groups, st.sampled_from(["0", "$"]) | entry_ids, entries_read),
    words("XGROUP", st.sampled_from(["CREATECONSUMER", "DELCONSUMER", "delconsumer"]), keys, groups, consumers),
    words("XGROUP", "DESTROY", keys, groups),
    words(st.sampled_from(["XGROUP", "XINFO"]), st.sampled_from(["HELP", "help", "x", ""]), maybe(keys)),
    words("XINFO", "STREAM", keys, maybe("FULL") | maybe("FULL", "COUNT", sizes) | maybe("x")),
    words("XINFO", "GROUPS", keys),
    words("XINFO", "CONSUMERS", keys, groups),
    words("XSETID", keys, entry_ids, maybe("ENTRIESADDED", sizes), maybe("MAXDELETEDID", entry_ids)),
)
