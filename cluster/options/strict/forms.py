"""The table of what strict mode refuses, and what Dynomite 0.6 does in its place.

Each form says what it looks at: a request before it is carried out, the vote on the answers of the zones, or the reply
before the client gets it. Measured at 2046b05 on 2026-11-22 unless ``docs/strict.md`` names another source.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from zonelab.cluster.commands.keys import key_bytes, keys_of
from zonelab.cluster.commands.routes import route, upper
from zonelab.cluster.options.strict.commands import has_right_length, is_known
from zonelab.cluster.votes.levels import Level, Setting, level_named, level_of, read_level
from zonelab.engine.ports import Command

LEVEL_COMMAND = "DYNO_CONFIG:CONN_CONSISTENCY"

PREFIX = "ERR strict: "
"""The begin of every refusal."""

BUFFER_BYTES = 16_320
"""The bytes of a message that one of Dynomite's buffers holds: ``mbuf_size``, 16,384 by default, less its header."""

_PEER_HEADER_BYTES = 34
"""The header before another zone's reply in such a buffer, with a message number of two digits."""

_KEY_FIRST = frozenset({"KEYS", "SCAN"})
"""Commands without a key whose first argument Dynomite's parser takes for one."""

MULTI_KEY = frozenset({"DEL", "EXISTS", "MGET", "MSET"})
"""Commands that Dynomite takes apart by key (``redis_fragment`` in ``proto/dyn_redis.c``)."""

_CLOSES = "closes the connection without a reply"


@dataclass(frozen=True)
class Request:
    """A command that a client has sent at ``setting``.

    ``zones``: so many are in the data centre of the coordinator, one of ``data_centres``.
    """

    words: Command
    setting: Setting
    zones: int
    data_centres: int

    @cached_property
    def name(self) -> str:
        return upper(self.words[0])

    @cached_property
    def keys(self) -> Sequence[bytes]:
        """The arguments that Dynomite's parser takes for keys."""
        return [key_bytes(word) for word in self.words[1:2]] if self.name in _KEY_FIRST else keys_of(self.words)

    @property
    def level(self) -> Level:
        """The level at which the command is sent."""
        return level_of(self.setting, route(self.words))


@dataclass(frozen=True, kw_only=True)
class Form:
    """``what`` is refused, and what Dynomite ``does`` with it."""

    what: str
    does: str

    def refusal(self, command: str) -> str:
        """The error in place of the answer to ``command``."""
        return f"{PREFIX}{command}: {self.what}; Dynomite 0.6 {self.does}"


@dataclass(frozen=True, kw_only=True)
class RequestForm(Form):
    """``fits`` is asked in the order of the table, so it may count on all forms above it."""

    fits: Callable[[Request], bool]


@dataclass(frozen=True, kw_only=True)
class ReplyForm(Form):
    """``fits`` is given the command's name and what its reply says."""

    fits: Callable[[str, Any], bool]


_TO_DESTINATION = frozenset({"STORE", "STOREDIST"})
_STORING = {"GEORADIUS": _TO_DESTINATION, "GEORADIUSBYMEMBER": _TO_DESTINATION, "SORT": frozenset({"STORE"})}
"""Commands that store their result only with one of these options."""


def _framed_bytes(size: int) -> int:
    """Returns the size on the wire of a word of ``size`` bytes."""
    return len(f"${size}\r\n\r\n") + size


def _crosses_buffers(request: Request) -> bool:
    """Dynomite copies each key and value of an MSET of several keys as if it ended in the buffer where it begins."""
    if request.name != "MSET" or len(request.keys) < 2:
        return False
    end = len(f"*{len(request.words)}\r\n")
    for word in request.words:
        begin, end = end, end + _framed_bytes(len(key_bytes(word)))
        if begin // BUFFER_BYTES != (end - 1) // BUFFER_BYTES:
            return True
    return False


def _stores_what_it_reads(request: Request) -> bool:
    """Dynomite's parser takes these for reads: no other data centre gets them, and at DC_ONE no other zone."""
    if request.name in ("SUNIONSTORE", "ZINTERSTORE", "ZUNIONSTORE"):
        return True
    options = _STORING.get(request.name, frozenset())
    return not options.isdisjoint(map(upper, request.words[2:]))


def _has_array_before_the_end(name: str, value: Any) -> bool:
    """Dynomite takes the end of an inner array for the end of the reply, which is right for the last element only."""
    while isinstance(value, list) and value:
        if any(isinstance(element, list) for element in value[:-1]):
            return True
        value = value[-1]
    return False


def _goes_beyond_buffer(name: str, value: Any) -> bool:
    if name != "MGET" or not isinstance(value, list) or len(value) < 2:
        return False
    elements = (_framed_bytes(len(element)) if element is not None else len("$-1\r\n") for element in value)
    return _PEER_HEADER_BYTES + len(f"*{len(value)}\r\n") + sum(elements) > BUFFER_BYTES


def _names_unknown_level(request: Request) -> bool:
    return request.name == LEVEL_COMMAND and level_named(b"".join(map(key_bytes, request.words[1:]))) is None


def _has_few_keys(request: Request) -> bool:
    return request.name in ("EVAL", "EVALSHA") and len(request.keys) < int(request.words[2])


REQUESTS = (
    RequestForm(what="an unknown level", does=_CLOSES, fits=_names_unknown_level),
    RequestForm(
        what="a command that Dynomite does not know", does=_CLOSES, fits=lambda request: not is_known(request.words)
    ),
    RequestForm(
        what="a number of arguments that Dynomite does not take",
        does=_CLOSES,
        fits=lambda request: not has_right_length(request.words),
    ),
    RequestForm(
        what="a script without keys",
        does=_CLOSES,
        fits=lambda request: request.name in ("EVAL", "EVALSHA") and not request.keys,
    ),
    RequestForm(what="a script with fewer keys than it says", does=_CLOSES, fits=_has_few_keys),
    RequestForm(what="an empty key", does=_CLOSES, fits=lambda request: b"" in request.keys),
    RequestForm(
        what="a key of 16,320 bytes or more",
        does="closes the connection without a reply or never answers",
        fits=lambda request: any(len(key) >= BUFFER_BYTES for key in request.keys),
    ),
    RequestForm(
        what="MSET of several keys with a key or value across byte 16,320 of the message",
        does="answers with an error and fails what follows, or crashes",
        fits=_crosses_buffers,
    ),
    RequestForm(
        what="a quorum level with one zone",
        does="fails at DC_SAFE_QUORUM after carrying it out, and counts it as without a quorum at DC_QUORUM",
        fits=lambda request: request.zones == 1 and not request.level.rule.is_local,
    ),
    RequestForm(
        what="a quorum level with more than three zones",
        does="writes past the end of its arrays of three replies",
        fits=lambda request: request.zones > 3 and not request.level.rule.is_local,
    ),
    RequestForm(
        what="DC_EACH_SAFE_QUORUM with several data centres",
        does="applies a write once for each zone of another data centre, and waits for ever for one that is away",
        fits=lambda request: request.data_centres > 1 and request.level.rule.other_dcs is not None,
    ),
    RequestForm(
        what="a result stored at DC_ONE",
        does="stores it in the own zone only",
        fits=lambda request: (
            request.zones > 1 and read_level(request.setting).rule.is_local and _stores_what_it_reads(request)
        ),
    ),
    RequestForm(
        what="a result stored with several data centres",
        does="stores it in the own data centre only",
        fits=lambda request: request.data_centres > 1 and _stores_what_it_reads(request),
    ),
)

BY_ELEMENT = Form(
    what="no two zones gave the same list of values",
    does="closes the connection, or answers ERR unknown: unknown at the safe levels",
)
NO_MAJORITY = Form(what="no two zones gave the same number", does="answers 0 or a nil array, without an error")
FAILED_READ = Form(
    what="several keys, and the answer is an error", does="closes the connection, at most after an error"
)
ERROR_ELSEWHERE = Form(
    what="several keys, and the first error is that of another zone's server",
    does="answers ERR unknown: unknown",
)
VOTES = (BY_ELEMENT, NO_MAJORITY, FAILED_READ, ERROR_ELSEWHERE)

REPLIES = (
    ReplyForm(
        what="an array inside the reply that is not its last element",
        does="cuts the reply there, and the client waits for ever",
        fits=_has_array_before_the_end,
    ),
    ReplyForm(
        what="a reply of more than 16,286 bytes to MGET of several keys",
        does="closes the connection, sends bytes of its own memory, or crashes",
        fits=_goes_beyond_buffer,
    ),
)

FORMS: tuple[Form, ...] = (*REQUESTS, *VOTES, *REPLIES)


def refused_request(request: Request) -> str | None:
    """The error in place of carrying it out; None for what Dynomite does as well."""
    form = next((form for form in REQUESTS if form.fits(request)), None)
    return None if form is None else form.refusal(request.name)


def refused_reply(name: str, value: Any) -> str | None:
    """The error in place of a reply that says ``value``; None for what Dynomite's client would get as well."""
    form = next((form for form in REPLIES if form.fits(name, value)), None)
    return None if form is None else form.refusal(name)
