"""Operations of a workload in Redis: its command, what its reply means, and how its key is read at rest."""

from collections.abc import Callable
from dataclasses import dataclass

from zonelab.analysis.workloads import WorkloadKind
from zonelab.engine.ports import Argument, Command, Reply

CAS = """
local found = redis.call('GET', KEYS[1])
if found ~= (ARGV[2] or false) then return {0, found} end
redis.call('SET', KEYS[1], ARGV[1])
return {1, found}
"""
"""Sets KEYS[1] to ARGV[1] if it holds ARGV[2] (without it: nothing). Answers whether it did, and what it found."""

POP = "return redis.call('LPOP', KEYS[1])"
"""Pop as queues take their next item: by a script that every zone runs on its own data."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessRequest:
    """One operation as its client wants it; fields as in ``zonelab.analysis.runs.accesses.Access``."""

    f: str
    key: str
    argument: str | None = None
    expected: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessAnswer:
    """The content of a reply; fields as in ``zonelab.analysis.runs.accesses.Access``."""

    result: str | None = None
    applied: bool | None = None
    members: tuple[str, ...] | None = None


NEEDS_ARGUMENT = ("write", "cas", "create", "add", "acquire", "push")

MIXES: dict[WorkloadKind, dict[str, float]] = {
    WorkloadKind.REGISTER: {"read": 5, "write": 4, "cas": 1},
    WorkloadKind.SET: {"add": 7, "members": 3},
    WorkloadKind.LOCK: {"acquire": 1},
    WorkloadKind.COUNTER: {"next": 1},
    WorkloadKind.LIST: {"push": 1, "pop": 1},
}
"""Weights of the operations of a workload that gives none."""


def redis_key(kind: WorkloadKind, key: str) -> str:
    return f"zonelab:{kind}:{key}"


def command(kind: WorkloadKind, request: AccessRequest) -> Command:
    return _COMMANDS[request.f](redis_key(kind, request.key), request)


def answer_of(request: AccessRequest, reply: Reply) -> AccessAnswer:
    """Return what ``reply``, which is not an error, says."""
    f = request.f
    if f in ("create", "acquire"):
        return AccessAnswer(applied=reply is not None)
    if f == "cas":
        assert isinstance(reply, list)
        return AccessAnswer(applied=reply[0] == 1, result=_text(reply[1]))
    if f == "members":
        assert isinstance(reply, list)
        return AccessAnswer(members=tuple(sorted(member.decode() for member in reply)))
    return AccessAnswer(result=_text(reply)) if f in ("read", "next", "pop") else AccessAnswer()


def reading(kind: WorkloadKind, key: str) -> Command:
    """The command that reads the whole key on one server."""
    name = redis_key(kind, key)
    if kind is WorkloadKind.SET:
        return ("SMEMBERS", name)
    return ("LRANGE", name, 0, -1) if kind is WorkloadKind.LIST else ("GET", name)


def values(kind: WorkloadKind, reply: Reply) -> list[str]:
    """The values that ``reading`` found, in an order that does not depend on the server's."""
    if isinstance(reply, list):
        found = [item.decode() for item in reply]
        return sorted(found) if kind is WorkloadKind.SET else found
    text = _text(reply)
    return [] if text is None else [text]


def _text(reply: Reply) -> str | None:
    if reply is None:
        return None
    return reply.decode() if isinstance(reply, bytes) else str(reply)


def _argument(request: AccessRequest) -> str:
    assert request.argument is not None, f"{request.f} needs an argument"
    return request.argument


def _cas(key: str, request: AccessRequest) -> Command:
    expected: tuple[Argument, ...] = () if request.expected is None else (request.expected,)
    return ("EVAL", CAS, 1, key, _argument(request), *expected)


_COMMANDS: dict[str, Callable[[str, AccessRequest], Command]] = {
    "read": lambda key, request: ("GET", key),
    "write": lambda key, request: ("SET", key, _argument(request)),
    "create": lambda key, request: ("SET", key, _argument(request), "NX"),
    "cas": _cas,
    "add": lambda key, request: ("SADD", key, _argument(request)),
    "members": lambda key, request: ("SMEMBERS", key),
    "acquire": lambda key, request: ("SET", key, _argument(request), "NX"),
    "next": lambda key, request: ("INCR", key),
    "push": lambda key, request: ("RPUSH", key, _argument(request)),
    "pop": lambda key, request: ("EVAL", POP, 1, key),
}
