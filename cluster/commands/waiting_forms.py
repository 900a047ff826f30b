"""Forms of commands that wait for data: where each looks, and the commands without a wait that it tries.

The same for the clients of a RESP port and for programs in either arm (``zonelab.cluster.client.waiting``).
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

TIMEOUT_S_MAX = 9.2e15
"""The servers' own limit: milliseconds since 1970 are numbers of 64 bits there."""

STREAM_NAMES = frozenset({"XREAD", "XREADGROUP"})


@dataclass(frozen=True)
class Attempt:
    """Command ``words``, to be tried once a look at ``keys`` has found one; its reply follows the name ``named``."""

    keys: tuple[bytes, ...]
    words: tuple[bytes, ...]
    named: bytes | None = None


@dataclass(frozen=True)
class Waiting:
    """A command that waits: its attempts, in order, for ``timeout_s`` (0: for ever), all of them on ``keys``."""

    keys: tuple[bytes, ...]
    attempts: tuple[Attempt, ...]
    timeout_s: float


@dataclass(frozen=True)
class Misstated:
    """A command that waits for nothing: ``error`` is wrong with it, or the server says what is, given ``words``."""

    words: tuple[bytes, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class StreamWaiting:
    """``XREAD`` or ``XREADGROUP`` without its ``BLOCK``: ``words``. ``timeout_s`` is None if it does not wait."""

    words: tuple[bytes, ...]
    timeout_s: float | None


@dataclass(frozen=True)
class _NonBlockingForm:
    """Form of a waiting command without its wait.

    ``timeout_at``: which argument is the time-out. ``many``: tried key by key, as the form without waiting takes one
    key; its reply is put behind the name of the key that it came from.
    """

    name: bytes
    timeout_at: int = -1
    many: bool = False


_FORMS = {
    "BLPOP": _NonBlockingForm(b"LPOP", many=True),
    "BRPOP": _NonBlockingForm(b"RPOP", many=True),
    "BZPOPMIN": _NonBlockingForm(b"ZPOPMIN", many=True),
    "BZPOPMAX": _NonBlockingForm(b"ZPOPMAX", many=True),
    "BLMOVE": _NonBlockingForm(b"LMOVE"),
    "BRPOPLPUSH": _NonBlockingForm(b"RPOPLPUSH"),
    "BLMPOP": _NonBlockingForm(b"LMPOP", timeout_at=1),
    "BZMPOP": _NonBlockingForm(b"ZMPOP", timeout_at=1),
}
WAITING_NAMES = STREAM_NAMES | _FORMS.keys()
ARITIES = {
    "BLPOP": -3, "BRPOP": -3, "BZPOPMIN": -3, "BZPOPMAX": -3, "BLMOVE": 6, "BRPOPLPUSH": 4, "BLMPOP": -5, "BZMPOP": -5,
}  # fmt: skip
"""By name: number of words, or if negative the smallest number; of streams a server's own commands say it."""

_ENDS = {"BLMOVE": {b"LEFT", b"RIGHT"}, "BLMPOP": {b"LEFT", b"RIGHT"}, "BZMPOP": {b"MIN", b"MAX"}}
_NOT_IN_C = re.compile(rb"[_\s]")
_POSITIVE = re.compile(rb"[1-9]\d{0,17}")
_TIMEOUT_MS = re.compile(rb"0|[1-9]\d{0,17}")
_STREAM_OPTIONS = {b"BLOCK": 1, b"COUNT": 1, b"GROUP": 2, b"NOACK": 0}
"""Words that follow each option."""


def waiting_form(name: str, words: Sequence[bytes]) -> Waiting | Misstated | None:
    """Return what ``words``, a command called ``name`` (capitals) of the right number of words, waits for.

    None if it is none of lists or sorted sets that waits. The order in which Valkey 9.1.2 looks at words: all of the
    others come before the time-out.
    """
    form = _FORMS.get(name)
    if form is None:
        return None
    arguments = list(words)
    said = arguments.pop(form.timeout_at)
    keys = _sources(name, arguments[1:])
    plain = (form.name, *arguments[1:])
    if not keys:
        return Misstated(plain)
    timeout_s = _number(said)
    if timeout_s is None:
        return Misstated(error="ERR timeout is not a float or out of range")
    if timeout_s < 0:
        return Misstated(error="ERR timeout is negative")
    if timeout_s > TIMEOUT_S_MAX:
        return Misstated(error="ERR timeout is out of range")
    if form.many:
        attempts = tuple(Attempt((key,), (form.name, key), named=key) for key in keys)
        return Waiting(tuple(keys), attempts, timeout_s)
    return Waiting(tuple(keys), (Attempt(tuple(keys), plain),), timeout_s)


def _sources(name: str, rest: list[bytes]) -> list[bytes]:
    """The keys from which a command takes; none if its words are wrong. ``rest``: those without the time-out."""
    if name == "BLMOVE":
        return rest[:1] if {word.upper() for word in rest[2:]} <= _ENDS[name] else []
    if name in _ENDS:
        count = int(rest[0]) if _POSITIVE.fullmatch(rest[0]) else 0
        end, options = rest[1 + count : 2 + count], rest[2 + count :]
        right = count and end and end[0].upper() in _ENDS[name]
        counted = len(options) == 2 and options[0].upper() == b"COUNT" and _POSITIVE.fullmatch(options[1])
        return rest[1 : 1 + count] if right and (counted or not options) else []
    return rest if _FORMS[name].many else rest[:1]


def stream_form(words: Sequence[bytes]) -> StreamWaiting:
    """Return ``XREAD`` or ``XREADGROUP`` without ``BLOCK``, to be sent again and again if its time-out is right.

    What is wrong with it the server says: it gets the words up to the wrong one, and without streams it waits for none.
    ``COUNT -1`` changes nothing and makes every form long enough for the server to look at it.
    """
    arguments = list(words)
    plain, at, timeout_ms = [arguments[0], *(b"COUNT", b"-1") * 3], 1, None
    while at < len(arguments) and (option := arguments[at].upper()) != b"STREAMS":
        taken = arguments[at : at + 1 + _STREAM_OPTIONS.get(option, 0)]
        at += len(taken)
        if option == b"BLOCK" and len(taken) == 2 and _TIMEOUT_MS.fullmatch(taken[1]):
            timeout_ms = int(taken[1])
            continue
        plain += taken
        if option not in _STREAM_OPTIONS or option == b"BLOCK":
            at = len(arguments)
    plain += arguments[at:]
    waits = timeout_ms is not None and (len(arguments) - at) % 2
    return StreamWaiting(tuple(plain), timeout_ms / 1000 if waits and timeout_ms is not None else None)


def stream_keys(words: Sequence[bytes]) -> list[bytes]:
    """Return the streams that ``words``, of a ``StreamWaiting`` that waits, read."""
    begin, middle = _streams(words)
    return list(words[begin:middle])


def last_entries_wanted(words: Sequence[bytes]) -> dict[int, bytes]:
    """Return the streams that are read from their last entry on (``$``), by the place of that word in ``words``."""
    if b"$" not in words:
        return {}
    begin, middle = _streams(words)
    return {middle + at: words[begin + at] for at in range(len(words) - middle) if words[middle + at] == b"$"}


def last_entry(key: bytes) -> tuple[bytes, ...]:
    """Return the command that reads the last entry of a stream."""
    return (b"XREVRANGE", key, b"+", b"-", b"COUNT", b"1")


def latest(identifiers: Sequence[bytes]) -> bytes:
    """Return the latest of ``identifiers`` of entries; ``0-0`` if there are none."""
    return max((b"0-0", *identifiers), key=lambda identifier: [int(part) for part in identifier.split(b"-")])


def _streams(words: Sequence[bytes]) -> tuple[int, int]:
    """Return where the streams begin and where their identifiers do."""
    begin = [word.upper() for word in words].index(b"STREAMS") + 1
    return begin, begin + (len(words) - begin) // 2


def _number(text: bytes) -> float | None:
    """A number as C reads it: with hexadecimal digits and infinities, and without Python's underscores and spaces."""
    if _NOT_IN_C.search(text):
        return None
    try:
        number = float.fromhex(text.decode("latin-1")) if b"x" in text.lower() else float(text)
    except OverflowError:
        return math.inf
    except ValueError:
        return None
    return None if math.isnan(number) else number
