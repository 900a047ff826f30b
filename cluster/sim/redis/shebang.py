"""The first line of a script that begins with ``#!``: its language and its flags (``evalExtractShebangFlags``)."""

from cluster.sim.redis.reply import fail, text

_NO_WRITES = b"no-writes"
_FLAGS = frozenset((_NO_WRITES, b"allow-oom", b"allow-stale", b"no-cluster", b"allow-cross-slot-keys"))
_OPTION = b"flags="


def read_shebang(script: bytes) -> tuple[bytes, bool]:
    """The script with an empty first line in place of its shebang, and whether it may only read.

    Raises ``CommandError`` for a shebang that the server refuses. Quotes in it are no quotes here.
    """
    if not script.startswith(b"#!"):
        return script, False
    line, end, _ = script.partition(b"\n")
    if not end or b"\0" in line:
        fail("ERR Invalid script shebang")
    first, *options = line.split()
    flags = [flag for option in options for flag in _flags(option)]
    if first.lower() != b"#!lua":
        fail(f"ERR Could not find scripting engine '{text(first[2:])}'")
    return script[len(line) :], _NO_WRITES in flags


def _flags(option: bytes) -> list[bytes]:
    if not option.startswith(_OPTION):
        fail(f"ERR Unknown lua shebang option: {text(option)}")
    given = option[len(_OPTION) :]
    flags = given.split(b",") if given else []
    for flag in flags:
        if flag not in _FLAGS:
            fail(f"ERR Unexpected flag in script shebang: {text(flag)}")
    return flags
