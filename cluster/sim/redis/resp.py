"""Replies on the wire: which type of RESP 3 a command's reply has, and the bytes of a reply in RESP 2 and 3.

Handlers return what RESP 2 has, without types, since engines need none. The types are found here, from the command.
"""

from collections.abc import Callable

from zonelab.cluster.sim.redis.registry import Args
from zonelab.cluster.sim.redis.reply import (
    BigNumberReply,
    BooleanReply,
    DoubleReply,
    ItemsReply,
    MapReply,
    PairsReply,
    SetReply,
    StatusReply,
    VerbatimReply,
)
from zonelab.engine.ports import Reply, ServerError

_Shape = Callable[[Args, Reply], Reply]


class NullArray(list[Reply]):
    """The nil in place of an array, which RESP 2 writes in another way than that in place of a string."""


def typed(words: Args, reply: Reply) -> Reply:
    """Return ``reply`` to the command ``words`` with the type that it has in RESP 3."""
    shape = _SHAPES.get(words[0].lower())
    return reply if shape is None or isinstance(reply, ServerError) else shape(words, reply)


def encode(reply: Reply, *, protocol: int) -> bytes:
    """Return a reply with its types as the server writes it in RESP 2 or 3."""
    if isinstance(reply, bytes):
        return _encode_text(reply, protocol)
    if reply is None or isinstance(reply, NullArray):
        return b"_\r\n" if protocol == 3 else b"$-1\r\n" if reply is None else b"*-1\r\n"
    if isinstance(reply, BooleanReply) and protocol == 3:
        return b"#t\r\n" if reply else b"#f\r\n"
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if isinstance(reply, ServerError):
        return b"-%b\r\n" % str(reply).encode()
    head, size = b"*", len(reply)
    if protocol == 3 and isinstance(reply, MapReply):
        head, size = b"%", len(reply) // 2
    elif protocol == 3 and isinstance(reply, ItemsReply):
        head, reply = b"%", [part for pair in reply for part in pair]
    elif protocol == 3 and isinstance(reply, SetReply):
        head = b"~"
    elif protocol == 3 and isinstance(reply, PairsReply):
        reply = [list(pair) for pair in zip(reply[::2], reply[1::2], strict=True)]
        size = len(reply)
    return b"%b%d\r\n%b" % (head, size, b"".join(encode(item, protocol=protocol) for item in reply))


def _encode_text(reply: bytes, protocol: int) -> bytes:
    if isinstance(reply, StatusReply):
        return b"+%b\r\n" % reply
    if protocol == 3:
        if isinstance(reply, DoubleReply):
            return b",%b\r\n" % reply
        if isinstance(reply, BigNumberReply):
            return b"(%b\r\n" % reply
        if isinstance(reply, VerbatimReply):
            return b"=%d\r\n%b:%b\r\n" % (len(reply) + 4, reply.form, reply)
    return b"$%d\r\n%b\r\n" % (len(reply), reply)


def _double(words: Args, reply: Reply) -> Reply:
    return DoubleReply(reply) if isinstance(reply, bytes) else reply


def _doubles(words: Args, reply: Reply) -> Reply:
    return [_double(words, item) for item in reply] if isinstance(reply, list) else reply


def _map(words: Args, reply: Reply) -> Reply:
    return MapReply(reply) if isinstance(reply, list) else reply


def _set(words: Args, reply: Reply) -> Reply:
    return SetReply(reply) if isinstance(reply, list) else reply


def _verbatim(words: Args, reply: Reply) -> Reply:
    return VerbatimReply(reply) if isinstance(reply, bytes) else reply


def _null_array(words: Args, reply: Reply) -> Reply:
    return NullArray() if reply is None else reply


def _has(words: Args, option: bytes, behind: int) -> bool:
    return any(word.upper() == option for word in words[behind:])


def _scores(reply: Reply) -> Reply:
    """Members and scores in turn."""
    assert isinstance(reply, list)
    return PairsReply(DoubleReply(part) if place % 2 else part for place, part in enumerate(reply))


def _with_scores(behind: int) -> _Shape:
    def shape(words: Args, reply: Reply) -> Reply:
        return _scores(reply) if isinstance(reply, list) and _has(words, b"WITHSCORES", behind) else reply

    return shape


def _combined(words: Args, reply: Reply) -> Reply:
    return _with_scores(2 + int(words[1]))(words, reply) if isinstance(reply, list) else reply


def _zpop(words: Args, reply: Reply) -> Reply:
    if len(words) > 2:
        return _scores(reply)
    return (
        [DoubleReply(part) if place else part for place, part in enumerate(reply)] if isinstance(reply, list) else reply
    )


def _rank(words: Args, reply: Reply) -> Reply:
    if len(words) < 4:
        return reply
    return [reply[0], DoubleReply(reply[1])] if isinstance(reply, list) else NullArray()


def _zmpop(words: Args, reply: Reply) -> Reply:
    """The key, and pairs in either protocol."""
    if not isinstance(reply, list):
        return NullArray()
    return [reply[0], [[member, DoubleReply(score)] for member, score in reply[1]]]


def _pop(words: Args, reply: Reply) -> Reply:
    return NullArray() if reply is None and len(words) > 2 else reply


def _hrandfield(words: Args, reply: Reply) -> Reply:
    return PairsReply(reply) if isinstance(reply, list) and len(words) > 3 else reply


def _place(place: list[Reply]) -> list[Reply]:
    return [_double([], each) for each in place]


def _positions(words: Args, reply: Reply) -> Reply:
    if not isinstance(reply, list):
        return reply
    return [NullArray() if place is None else _place(place) for place in reply]


def _members_found(words: Args, reply: Reply) -> Reply:
    """Members of a search, with their places last if that was asked for."""
    if not isinstance(reply, list) or not any(word.upper() == b"WITHCOORD" for word in words):
        return reply
    return [[*each[:-1], _place(each[-1])] for each in reply]


def _entries(reply: Reply) -> Reply:
    """Entries of a stream; one that was deleted has no fields."""
    if not isinstance(reply, list):
        return NullArray()
    return [[entry_id, NullArray() if fields is None else fields] for entry_id, fields in reply]


def _streams(words: Args, reply: Reply) -> Reply:
    if not isinstance(reply, list):
        return NullArray()
    return ItemsReply([key, _entries(entries)] for key, entries in reply)


def _pending(words: Args, reply: Reply) -> Reply:
    if isinstance(reply, list) and len(words) == 3 and reply[3] is None:
        return [*reply[:3], NullArray()]
    return reply


def _stream_info(words: Args, reply: Reply) -> Reply:
    verb = words[1].upper()
    if not isinstance(reply, list) or verb == b"HELP":
        return reply
    return _described(reply) if verb == b"STREAM" else [MapReply(one) for one in reply]


def _described(reply: list[Reply]) -> MapReply:
    """A stream, group or consumer, with what it lists."""
    described = MapReply(reply)
    for place in range(0, len(reply), 2):
        listed = reply[place + 1]
        if reply[place] in (b"groups", b"consumers") and isinstance(listed, list):
            described[place + 1] = [_described(one) for one in listed]
    return described


def _function(words: Args, reply: Reply) -> Reply:
    verb = words[1].upper()
    if not isinstance(reply, list) or verb not in (b"LIST", b"STATS"):
        return reply
    if verb == b"STATS":
        return MapReply([*reply[:3], MapReply([reply[3][0], MapReply(reply[3][1])])])
    return [MapReply([*library[:5], [_function_map(each) for each in library[5]], *library[6:]]) for library in reply]


def _function_map(described: list[Reply]) -> MapReply:
    *words, flags = described
    return MapReply([*words, SetReply(flags)] if isinstance(flags, list) else described)


_SHAPES: dict[bytes, _Shape] = {
    b"function": _function,
    b"zscore": _double,
    b"zincrby": _double,
    b"zadd": _double,
    b"zmscore": _doubles,
    b"zrank": _rank,
    b"zrevrank": _rank,
    b"zpopmin": _zpop,
    b"zpopmax": _zpop,
    b"zmpop": _zmpop,
    b"lmpop": _null_array,
    b"lpop": _pop,
    b"rpop": _pop,
    **dict.fromkeys((b"zrange", b"zrevrange", b"zrangebyscore", b"zrevrangebyscore"), _with_scores(4)),
    **dict.fromkeys((b"zunion", b"zinter", b"zdiff"), _combined),
    b"zrandmember": _with_scores(3),
    b"hgetall": _map,
    b"hrandfield": _hrandfield,
    **dict.fromkeys((b"smembers", b"sunion", b"sinter", b"sdiff"), _set),
    b"spop": _set,
    b"geopos": _positions,
    **dict.fromkeys((b"geosearch", b"georadius", b"georadius_ro"), _members_found),
    **dict.fromkeys((b"georadiusbymember", b"georadiusbymember_ro"), _members_found),
    b"lcs": _map,
    **dict.fromkeys((b"xrange", b"xrevrange"), lambda words, reply: _entries(reply)),
    **dict.fromkeys((b"xread", b"xreadgroup"), _streams),
    b"xpending": _pending,
    b"xinfo": _stream_info,
    b"info": _verbatim,
}
