"""Keys that a command has changed: those whose watchers a server tells, and whose waiting clients may go on."""

from collections.abc import Callable, Mapping, Sequence

Words = Sequence[bytes]

_SCRIPTS = frozenset({"eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro", "function"})
"""Their own calls say what they change."""


def _first(words: Words) -> Words:
    return words[1:2]


def _all(words: Words) -> Words:
    return words[1:]


def _two(words: Words) -> Words:
    return words[1:3]


def _every_other(words: Words) -> Words:
    return words[1::2]


def _second(words: Words) -> Words:
    return words[2:3]


def _counted(words: Words, at: int) -> Words:
    return words[at + 1 : at + 1 + int(words[at])] if len(words) > at and words[at].isdigit() else ()


def _behind_store(words: Words) -> Words:
    return [words[at + 1] for at, word in enumerate(words[:-1]) if word.upper() in (b"STORE", b"STOREDIST")]


def _streams(words: Words) -> Words:
    behind = [word.upper() for word in words].index(b"STREAMS") + 1
    return words[behind : behind + (len(words) - behind) // 2]


_WRITTEN: Mapping[str, Callable[[Words], Words]] = {
    **dict.fromkeys(("del", "unlink", "blpop", "brpop", "bzpopmin", "bzpopmax"), _all),
    **dict.fromkeys(("rename", "renamenx", "lmove", "blmove", "rpoplpush", "brpoplpush", "smove"), _two),
    **dict.fromkeys(("mset", "msetnx"), _every_other),
    **dict.fromkeys(("copy", "bitop", "xgroup|create", "xgroup|destroy", "xgroup|setid"), _second),
    **dict.fromkeys(("xgroup|createconsumer", "xgroup|delconsumer"), _second),
    **dict.fromkeys(("sort", "georadius", "georadiusbymember"), _behind_store),
    **dict.fromkeys(("lmpop", "zmpop"), lambda words: _counted(words, 1)),
    **dict.fromkeys(("blmpop", "bzmpop"), lambda words: _counted(words, 2)),
    "msetex": lambda words: _counted(words, 1)[::2],
    "xreadgroup": _streams,
}


def written_keys(name: str, words: Words) -> list[bytes]:
    """Return the keys that a command, which has changed something, may have changed; ``words`` with its name.

    Where it may be one of several, such as the lists of LMPOP, all are named.
    """
    if name.partition("|")[0] in _SCRIPTS:
        return []
    return list(dict.fromkeys(_WRITTEN.get(name, _first)(words)))
