"""The HTTP API of Youzan's queue, in both forms in which it is known.

::

    /push /pop /finish /delete /get  {"topic": …, "id": …, "delay": …, "ttr": …, "body": …}, as ouqiang/delay-queue v0.4
    POST /                           {"command": "add" | "pop" | "finish" | "delete", …}, as the article describes it

Sources: https://github.com/ouqiang/delay-queue and https://tech.youzan.com/queuing_delay/. The jobs are those of
JSON-RPC.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from zonelab.app.gmq_service.backend.jobs import Jobs
from zonelab.app.gmq_service.backend.waiting import Pops
from zonelab.app.gmq_service.http.asking import (
    EVERY_METHOD,
    BadBody,
    answer,
    body_of,
    caller_of,
    number_in,
    text_in,
)
from zonelab.app.gmq_service.http.commands import HttpCommands
from zonelab.app.gmq_service.traffic import Traffic
from zonelab.cluster.admin.guard import Guard
from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.gmq.jobs import BrokenJob, Job

POP_S = 178
"""The original's ``queue_block_timeout``."""

DELAY_S_MAX = 2**31
TTR_S_MAX = 86_400

_TEXT = "text/plain; charset=utf-8"
"""Content type that Go's server gives such an answer."""

_DONE, _ADDED = "操作成功", "添加成功"
_NO_ID, _NO_TOPIC, _NO_TOPIC_OF_POP = "job id不能为空", "topic 不能为空", "topic不能为空"
_DELAY, _TTR = "delay 取值范围1 - (2^31 - 1)", "ttr 取值范围1 - 86400"
_BAD_JSON = "解析json失败"
_FAILED = {"push": "添加失败", "pop": "获取Job失败", "finish": "删除失败", "delete": "删除失败", "get": "查询失败"}

_Handler = Callable[[Request, dict[str, Any]], Awaitable[tuple[str, Any]]]


class Invalid(Exception):
    """The text that the original answers."""


class Api:
    """``answer`` of every path is an object of code, message and data; the code is 1 for an error."""

    def __init__(self, *, jobs: Jobs, pops: Pops, traffic: Traffic, bytes_max: int) -> None:
        self._jobs, self._pops, self._traffic, self._bytes_max = jobs, pops, traffic, bytes_max
        self._handlers: dict[str, _Handler] = {
            "push": self._push,
            "pop": self._pop,
            "finish": self._remove,
            "delete": self._remove,
            "get": self._get,
        }

    def app(self, *, token: str | None, hosts: tuple[str, ...]) -> Starlette:
        """Return the application of the API, which refuses requests from other sites' pages and without ``token``."""
        routes = [Route(f"/{name}", self._endpoint(name), methods=EVERY_METHOD) for name in self._handlers]
        commands = HttpCommands(jobs=self._jobs, pops=self._pops, traffic=self._traffic, bytes_max=self._bytes_max)
        guard = Middleware(Guard, token=token, hosts=hosts, reading_needs_token=True, open_without_token=True)
        return Starlette(routes=[*routes, Route("/", commands.answer, methods=["POST"])], middleware=[guard])

    def _endpoint(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            timed = self._traffic.begin(name)
            outcome, code, data = "error", 1, None
            try:
                message, data = await self._handlers[name](request, await body_of(request, bytes_max=self._bytes_max))
                outcome, code = "ok", 0
            except BadBody:
                message = _BAD_JSON
            except Invalid as error:
                message = str(error)
            except (*COMMAND_FAILURES, BrokenJob):
                message = _FAILED[name]
            finally:
                timed.end(outcome)
            return answer({"code": code, "message": message, "data": data}, kind=_TEXT)

        return endpoint

    async def _push(self, _: Request, body: dict[str, Any]) -> tuple[str, Any]:
        """An id that is there is pushed again, over the old one."""
        job = Job(
            id=text_in(body, "id"),
            topic=text_in(body, "topic"),
            delay_s=number_in(body, "delay"),
            ttr_s=number_in(body, "ttr"),
            body=text_in(body, "body"),
        )
        for wrong, text in (
            (not job.id, _NO_ID),
            (not job.topic, _NO_TOPIC),
            (not 0 < job.delay_s <= DELAY_S_MAX, _DELAY),
            (not 0 < job.ttr_s <= TTR_S_MAX, _TTR),
        ):
            if wrong:
                raise Invalid(text)
        await self._jobs.replace(job)
        return _ADDED, None

    async def _pop(self, request: Request, body: dict[str, Any]) -> tuple[str, Any]:
        topic = text_in(body, "topic")
        if not topic:
            raise Invalid(_NO_TOPIC_OF_POP)
        async with caller_of(request) as caller:
            job = await self._pops.pop(topic.split(","), wait_s=POP_S, caller=caller)
        return _DONE, None if job is None else {"id": job.id, "body": job.body}

    async def _remove(self, _: Request, body: dict[str, Any]) -> tuple[str, Any]:
        await self._jobs.remove(_id_in(body))
        return _DONE, None

    async def _get(self, _: Request, body: dict[str, Any]) -> tuple[str, Any]:
        job = await self._jobs.get(_id_in(body))
        if job is None:
            return _DONE, None
        return _DONE, {"topic": job.topic, "id": job.id, "delay": job.delay_s, "ttr": job.ttr_s, "body": job.body}


def _id_in(body: dict[str, Any]) -> str:
    job_id = text_in(body, "id")
    if not job_id:
        raise Invalid(_NO_ID)
    return job_id
