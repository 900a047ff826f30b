"""Service.Push, Service.Pop and Service.Ack: what each answers, byte for byte as gmq v1.0.

Source: https://github.com/wuzhc/gmq at v1.0, as measured on the program itself (docs/gmq-service.md).
"""

from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Any

from zonelab.app.gmq_service.backend.jobs import Jobs, Refused
from zonelab.app.gmq_service.backend.waiting import Caller, Pops
from zonelab.app.gmq_service.rpc.go_json import int_of, printed, quoted, whole
from zonelab.app.gmq_service.rpc.requests import ABSENT, RpcRequest
from zonelab.cluster.connections.failures import STORAGE_REFUSED
from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.gmq.jobs import BrokenJob, Job
from zonelab.engine.gmq.keys import GmqKeys
from zonelab.engine.gmq.served_jobs import AckOutcome
from zonelab.engine.ports import ServerError, Unavailable

ATOI = 'strconv.Atoi: parsing "": invalid syntax'
_ACKS = {
    AckOutcome.DONE: "true",
    AckOutcome.GONE: "false",
    AckOutcome.READY_AGAIN: "TTR has expired and will be consumed again",
    AckOutcome.NOT_RESERVED: "Job is not be reserved",
    AckOutcome.NOT_READY: "Unknown error",
    AckOutcome.MISSING: ATOI,
}
_RESERVED = "3"
_KINDS = ((bool, "bool"), (str, "string"), (int, "number"), (float, "number"), (list, "array"), (dict, "object"))


class RpcError(Exception):
    """An error for the client, its ``error``."""


class Mistaken(RpcError):
    """The request would be an error whatever the queue holds."""


class AnswerStatus(Enum):
    """The status of an answer."""

    RESULT = auto()
    ERROR = auto()
    MISTAKEN = auto()


class Methods:
    """``answer`` never raises what a client may cause. ``compat``: with a defect of v1.0's texts."""

    def __init__(self, *, jobs: Jobs, pops: Pops, prefix: str, pop_s: float, compat: bool) -> None:
        self._jobs, self._pops, self._pop_s, self._compat = jobs, pops, pop_s, compat
        self._keys = GmqKeys(prefix=prefix)
        self._methods: dict[str, Callable[[Any, Caller], Awaitable[str]]] = {
            "Push": self._push,
            "Pop": self._pop,
            "Ack": self._ack,
        }

    async def answer(self, request: RpcRequest, caller: Caller) -> tuple[str, AnswerStatus]:
        """The result as JSON, or the text of the error, and which of them it is."""
        try:
            method = self._method(request.method)
            if request.params is ABSENT:
                raise Mistaken("jsonrpc: request body missing params")
            if not isinstance(request.params, list):
                raise Mistaken(_mismatch(request.params, "[1]interface {}"))
            argument = request.params[0] if request.params else None
            return await method(argument, caller), AnswerStatus.RESULT
        except Mistaken as error:
            return str(error), AnswerStatus.MISTAKEN
        except RpcError as error:
            return str(error), AnswerStatus.ERROR
        except COMMAND_FAILURES as error:
            return told(error), AnswerStatus.ERROR
        except BrokenJob:
            return ATOI, AnswerStatus.ERROR

    def _method(self, name: str) -> Callable[[Any, Caller], Awaitable[str]]:
        service, dot, method = name.rpartition(".")
        if not dot:
            raise Mistaken(f"rpc: service/method request ill-formed: {name}")
        if service != "Service":
            raise Mistaken(f"rpc: can't find service {name}")
        if method not in self._methods:
            raise Mistaken(f"rpc: can't find method {name}")
        return self._methods[method]

    async def _push(self, argument: Any, caller: Caller) -> str:
        """Errors of the queue and of its server are results, as in the original."""
        fields = _strings_by_name(argument)
        job = Job(
            id=fields.get("id", ""),
            topic=fields.get("topic", ""),
            delay_s=int_of(fields.get("delay", "")),
            ttr_s=int_of(fields.get("TTR", "")),
            body=fields.get("body", ""),
        )
        if not job.id:
            return quoted("job.id is empty")
        if not job.topic:
            return quoted("job.topic is empty")
        try:
            if await self._jobs.push(job):
                return '"success"'
        except COMMAND_FAILURES as error:
            return quoted(told(error))
        refusal = f"jobKey:{self._keys.job(job.id)},error:has exist"
        return quoted(printed(refusal) if self._compat else refusal)

    async def _pop(self, argument: Any, caller: Caller) -> str:
        topics = _strings(argument)
        if not topics:
            raise Mistaken("topics is empty")
        job = await self._pops.pop(topics, wait_s=self._pop_s, caller=caller)
        if job is None:
            raise RpcError("empty")
        return (
            f'{{"TTR":"{job.ttr_s}","body":{quoted(job.body)},"consume_num":"{job.consumed}","delay":"{job.delay_s}",'
            f'"id":{quoted(job.id)},"status":"{_RESERVED}","topic":{quoted(job.topic)}}}'
        )

    async def _ack(self, argument: Any, caller: Caller) -> str:
        told_ack = _ACKS[await self._jobs.ack(_string(argument))]
        if told_ack in ("true", "false"):
            return told_ack
        raise RpcError(told_ack)


def told(error: Exception) -> str:
    """Return what a client hears of a command that failed."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, ServerError):
        return f"redis: {error}"
    why = "the server is not reached" if str(error) == STORAGE_REFUSED else str(error)
    fate = "nothing was done" if isinstance(error, Unavailable) else "it may have been done"
    return f"redis: {why}; {fate}"


def response(request_id: str, answer: str, *, is_result: bool) -> bytes:
    """The line that answers the request of this id."""
    result, error = (answer, "null") if is_result else ("null", quoted(answer))
    return f'{{"id":{request_id},"result":{result},"error":{error}}}\n'.encode("utf-8", "replace")


def _string(argument: Any) -> str:
    if argument is None:
        return ""
    if not isinstance(argument, str):
        raise Mistaken(_mismatch(argument, "string"))
    return whole(argument)


def _strings(argument: Any) -> list[str]:
    if argument is None:
        return []
    if not isinstance(argument, list):
        raise Mistaken(_mismatch(argument, "[]string"))
    return [_string(item) for item in argument]


def _strings_by_name(argument: Any) -> dict[str, str]:
    if argument is None:
        return {}
    if not isinstance(argument, dict):
        raise Mistaken(_mismatch(argument, "map[string]string"))
    return {name: _string(value) for name, value in argument.items()}


def _mismatch(value: Any, wanted: str) -> str:
    kind = next(name for type_, name in _KINDS if isinstance(value, type_))
    return f"json: cannot unmarshal {kind} into Go value of type {wanted}"
