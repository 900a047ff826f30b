"""The JSON of gmq's web monitor, metrics, and whether the service is well.

::

    GET /getBucketStat /getTTRBucketStat /getReadyQueueStat /getJobsByBucketKey?bucketKey=&limit=    as gmq v1.0
    GET /metrics    for Prometheus
    GET /health     200, or 503 if its server is not reached

Source: https://github.com/wuzhc/gmq at v1.0. Its pages are not served; times are UTC.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from zonelab.app.gmq_service.backend.figures import BucketFigures, Figures
from zonelab.app.gmq_service.http.asking import answer
from zonelab.app.gmq_service.http.metrics import exposition
from zonelab.cluster.admin.exposition import MEDIA_TYPE
from zonelab.cluster.admin.guard import Guard
from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.pipelines import read
from zonelab.engine.gmq.jobs import JobStatus
from zonelab.engine.gmq.keys import GmqKeys
from zonelab.engine.ports import Command, Connection

LIMIT_DEFAULT = 20
LIMIT_MAX = 10_000
"""Jobs of one answer; the original has no bound."""

_KEYS_MAX = 10_000
_COLOURS = {
    JobStatus.DEFAULT: ("cyan", "default"),
    JobStatus.DELAY: ("orange", "delay"),
    JobStatus.READY: ("red", "ready"),
    JobStatus.RESERVED: ("blue", "reserved"),
}
_NO_KEY = "bucketKey不能为空"


class Web:
    """``figures`` are those of the process, ``connection`` leads to what the server holds."""

    def __init__(self, figures: Figures, *, connection: Connection, keys: GmqKeys) -> None:
        self._figures, self._connection, self._keys = figures, connection, keys

    def app(self, *, token: str | None, hosts: tuple[str, ...]) -> Starlette:
        """Return the application of the original's web monitor, ``/metrics`` and ``/health``.

        ``token``: if given, requests must have it.
        """
        endpoints: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/getBucketStat": self._delay_buckets,
            "/getTTRBucketStat": self._ttr_buckets,
            "/getReadyQueueStat": self._ready_queues,
            "/getJobsByBucketKey": self._jobs,
            "/metrics": self._metrics,
            "/health": self._health,
        }
        guard = Middleware(
            Guard, token=token, hosts=hosts, reading_needs_token=token is not None, open_without_token=True
        )
        return Starlette(
            routes=[
                Route(path, _get_only(endpoint), methods=["GET", "HEAD", "POST"])
                for path, endpoint in endpoints.items()
            ],
            middleware=[guard],
        )

    async def _delay_buckets(self, _: Request) -> Response:
        return await self._buckets(self._figures.delay_buckets())

    async def _ttr_buckets(self, _: Request) -> Response:
        return await self._buckets(self._figures.ttr_buckets())

    async def _buckets(self, buckets: list[BucketFigures]) -> Response:
        commands: list[Command] = [("ZCARD", one.key) for one in buckets]
        return await _told(self._rows(commands, buckets))

    async def _rows(self, commands: list[Command], buckets: list[BucketFigures]) -> list[dict[str, Any]]:
        sizes = await read(self._connection, commands)
        return [
            {"id": number, "bucket_name": one.key, "job_num": size, "next_time": _moment(one.next_s)}
            for number, (one, size) in enumerate(zip(buckets, sizes, strict=True), 1)
        ]

    async def _ready_queues(self, _: Request) -> Response:
        return await _told(self._queues())

    async def _queues(self) -> list[dict[str, Any]]:
        names = await self._ready_keys()
        sizes = await read(self._connection, [("LLEN", name) for name in names])
        return [
            {"id": number, "queue_name": name, "job_num": size}
            for number, (name, size) in enumerate(zip(names, sizes, strict=True), 1)
        ]

    async def _ready_keys(self) -> list[str]:
        """By SCAN, which keeps nobody waiting as the original's KEYS does."""
        found: dict[str, None] = {}
        cursor: Any = b"0"
        while True:
            command: Command = ("SCAN", cursor, "MATCH", self._keys.ready("*"), "COUNT", 1_000)
            (reply,) = await read(self._connection, [command])
            cursor, names = reply
            found |= dict.fromkeys(name.decode("utf-8", "replace") for name in names)
            if cursor == b"0" or len(found) >= _KEYS_MAX:
                return sorted(found)

    async def _jobs(self, request: Request) -> Response:
        key, limit = request.query_params.get("bucketKey", ""), request.query_params.get("limit", str(LIMIT_DEFAULT))
        if not key:
            return _error(_NO_KEY, status=400)
        if not limit.lstrip("-").isdigit():
            return _error("ERR value is not an integer or out of range", status=500)
        return await _told(self._jobs_of(key, min(int(limit), LIMIT_MAX)))

    async def _jobs_of(self, key: str, limit: int) -> list[dict[str, Any]]:
        """One more than ``limit``, as the original's ZRANGE."""
        command: Command = ("ZRANGE", key, 0, limit, "WITHSCORES")
        (flat,) = await read(self._connection, [command])
        ids = [raw.decode("utf-8", "replace") for raw in flat[::2]]
        fields = ("TTR", "delay", "topic", "status")
        jobs = await read(self._connection, [("HMGET", self._keys.job(job_id), *fields) for job_id in ids])
        rows = []
        for job_id, score, job in zip(ids, flat[1::2], jobs, strict=True):
            ttr, delay, topic, status = ((value or b"").decode("utf-8", "replace") for value in job)
            rows.append(
                {
                    "id": job_id,
                    "job_key": self._keys.job(job_id),
                    "runtime": _moment(int(float(score))),
                    "ttr": ttr,
                    "delay_time": _duration(delay),
                    "topic": topic,
                    "status": _badge(status),
                }
            )
        return rows

    async def _metrics(self, _: Request) -> Response:
        return Response(await exposition(self._figures, self._connection, self._keys), media_type=MEDIA_TYPE)

    async def _health(self, _: Request) -> Response:
        well = self._figures.connected
        return answer({"healthy": well}, status=200 if well else 503)


def _get_only(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """The original has no such page for HEAD and POST."""

    async def get(request: Request) -> Response:
        return await endpoint(request) if request.method == "GET" else Response("404 page not found", status_code=404)

    return get


async def _told(rows: Awaitable[list[dict[str, Any]]]) -> Response:
    """Code, data and msg; the data of an empty list is null, as Go writes it."""
    try:
        found = await rows
    except COMMAND_FAILURES as error:
        return _error(str(error), status=500)
    return answer({"code": 0, "data": found or None, "msg": ""})


def _error(text: str, *, status: int) -> Response:
    return answer({"code": 1, "data": None, "msg": text}, status=status)


def _moment(second: int) -> str:
    try:
        return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return ""


def _duration(text: str) -> str:
    """Return ``text`` as Go's ``time.Duration`` prints whole seconds: ``48h3m12s``."""
    if not text.lstrip("-").isdigit():
        return ""
    sign, seconds = "-" if int(text) < 0 else "", abs(int(text))
    hours, minutes = seconds // 3_600, seconds // 60 % 60
    words = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{words}{seconds % 60}s"


def _badge(status: str) -> str:
    if not status.isdigit():
        colour, name = "black", "unknown"
    else:
        colour, name = (
            _COLOURS.get(JobStatus(int(status)), ("black", "delete")) if int(status) < 4 else ("black", "delete")
        )
    return f'<span class="layui-badge layui-bg-{colour}">{name}</span>'
