"""Commands on streams as templates of ``command_families``. None waits, and none has its server choose an id."""

from collections.abc import Sequence

STREAM_POOLS: dict[str, Sequence[str | bytes]] = {
    "id": [
        *["0-0", "0", "0-1", "1-0", "1-1", "1-2", "2-0", "2", "3-0", "5", "9-0", "9-1", "9-2", "9-3", "9-0", "9"],
        *[
            "-",
            "+",
            "$",
            ">",
            "",
            "(",
            "(1-1",
            "1-x",
            "1--1",
            "1- -5",
            "01-1",
            "5-*",
            b"1-1\0x",
            "18446744073709551616",
        ],
        *["18446744073709551615-18446744073709551614", "18446744073709551615"],
    ],
    "bound": ["-", "-", "+", "+", "0", "1-1", "(1-1", "2", "(2-1", "3-1", "(3", "(", "(+", "x", "(0-0", "9-1", "0"],
    "next": ["1-*", "2-*", "3-*", "9-*", "9-*", "9-*", "9-*", "9-*", "9-*"],
    "new": [">", ">", "0", "1-1", "2-1", "$", "x"],
    "group": ["g", "g", "g", "g", "g", "h", b"\xff\r\n"],
    "who": ["c", "c", "d", b"\0\xff"],
    "idle": ["0", "0", "0", "0", "0", "1000000", "1000000000", "-1", "x"],
}

STREAMS = """
    XADD {k} {next} < {m} {v} >
    XADD {k} {next} < {m} {v} >
    XADD {k} [ NOMKSTREAM ] {id} < {m} {v} > [ {m} ]
    XADD {k} (MAXLEN|maxlen) {small} {next} < {m} {v} >
    XADD {k} (MAXLEN|MINID) (~|=) {small} [ LIMIT {n} ] {next} < {m} {v} >
    XTRIM {k} (MAXLEN|MINID) [ (~|=) ] {small} [ LIMIT {n} ]
    (XDEL|XACK) {k} < {id} >
    XLEN {k}
    (XRANGE|XREVRANGE) {k} {bound} {bound} [ COUNT {n} ]
    XREAD [ COUNT {n} ] STREAMS {k} {id}
    XREAD [ COUNT {n} ] STREAMS {k} {k} {new} {id}
    XREADGROUP GROUP {group} {who} [ COUNT {n} ] [ NOACK ] STREAMS {k} {new}
    XREADGROUP GROUP g {who} [ COUNT {n} ] STREAMS {k} (>|>|0)
    XREADGROUP GROUP g (c|d) STREAMS {k} >
    XREADGROUP GROUP {group} {who} STREAMS {k} {k} {new} {new}
    XACK {k} {group} < {id} >
    XPENDING {k} {group}
    XPENDING {k} {group} [ IDLE {idle} ] {bound} {bound} {n} [ {who} ]
    XCLAIM {k} {group} {who} {idle} < {id} > [ FORCE ] [ JUSTID ] [ IDLE {idle} ] [ RETRYCOUNT {n} ] [ LASTID {id} ]
    XCLAIM {k} g {who} 0 < (9-0|9-1|9-2|9-3|1-0) > [ FORCE ] [ JUSTID ]
    XCLAIM {k} {group} {who} 0 < {id} > [ TIME (-1|1000000000000000) ] [ FORCE ] [ {junk} ]
    XAUTOCLAIM {k} {group} {who} {idle} {bound} [ COUNT {n} ] [ JUSTID ]
    XGROUP CREATE {k} g (0|0|0|$) MKSTREAM
    XGROUP CREATE {k} {group} (0|0|$) MKSTREAM
    XGROUP CREATE {k} g (0|$) [ MKSTREAM ] [ ENTRIESREAD {n} ]
    XGROUP (CREATE|SETID) {k} {group} {id} [ MKSTREAM ] [ ENTRIESREAD {n} ]
    XGROUP (CREATECONSUMER|DELCONSUMER) {k} {group} {who}
    XGROUP DESTROY {k} (h|h|h|h|h|g)
    (XGROUP|XINFO) (HELP|help|x) [ {k} ]
    XINFO STREAM {k} [ FULL ] [ COUNT {n} ]
    XINFO STREAM {k} FULL [ COUNT {n} ]
    XINFO GROUPS {k}
    XINFO CONSUMERS {k} {group}
    XSETID {k} {id} [ ENTRIESADDED {n} ] [ MAXDELETEDID {id} ]
"""
