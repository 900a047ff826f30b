"""Commands of Youzan's queue as its article describes them: one JSON object each, over HTTP.

Source: https://tech.youzan.com/queuing_delay/. A pop does not wait.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from zonelab.app.gmq_service.backend.jobs import Jobs
from zonelab.app.gmq_service.backend.waiting import Pops
from zonelab.app.gmq_service.http.asking import BadBody, answer, body_of, caller_of, number_in, text_in
from zonelab.app.gmq_service.traffic import Traffic
from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.gmq.jobs import BrokenJob, Job

COMMANDS = ("add", "pop", "finish", "delete")


class Refusal(Exception):
    """Why a command is not carried out."""


class HttpCommands:
    """Answers ``{"success": …, "error": …, "id": …, "value": …}``; the value is the body of a job."""

    def __init__(self, *, jobs: Jobs, pops: Pops, traffic: Traffic, bytes_max: int) -> None:
        self._jobs, self._pops, self._traffic, self._bytes_max = jobs, pops, traffic, bytes_max

    async def answer(self, request: Request) -> Response:
        """Carry out one request and say in JSON what came of it; errors are answers, too."""
        timed, error, job_id, value = self._traffic.begin("command"), None, None, None
        try:
            job_id, value = await self._carry_out(request, await body_of(request, bytes_max=self._bytes_max))
        except BadBody:
            error = f"this needs a JSON object of at most {self._bytes_max} bytes, texts and whole numbers in it"
        except Refusal as refusal:
            error = str(refusal)
        except (*COMMAND_FAILURES, BrokenJob) as failure:
            error = f"redis: {failure}"
        finally:
            timed.end("ok" if error is None else "error")
        return answer({"success": error is None, "error": error, "id": job_id, "value": value})

    async def _carry_out(self, request: Request, body: dict[str, Any]) -> tuple[str | None, str | None]:
        command = text_in(body, "command")
        match command:
            case "add":
                return await self._add(body), None
            case "pop":
                async with caller_of(request) as caller:
                    job = await self._pops.pop(_needed(body, "topic").split(","), wait_s=0, caller=caller)
                return (None, None) if job is None else (job.id, job.body)
            case "finish" | "delete":
                job_id = _needed(body, "id")
                await self._jobs.remove(job_id)
                return job_id, None
        raise Refusal(f"command: got {command!r}; accepted: {', '.join(COMMANDS)}")

    async def _add(self, body: dict[str, Any]) -> str:
        """The id is the caller's to be unique, as in the article: one that is there is refused."""
        job = Job(
            id=_needed(body, "id"),
            topic=_needed(body, "topic"),
            delay_s=number_in(body, "delay"),
            ttr_s=number_in(body, "ttr"),
            body=text_in(body, "body"),
        )
        for name, seconds in (("delay", job.delay_s), ("TTR", job.ttr_s)):
            if seconds < 0:
                raise Refusal(f"{name}: got {seconds}; accepted: 0 or more seconds")
        if not await self._jobs.push(job):
            raise Refusal(f"id: got {job.id!r}, of which there is a job; accepted: another one")
        return job.id


def _needed(body: dict[str, Any], name: str) -> str:
    text = text_in(body, name)
    if not text:
        raise Refusal(f"{name}: got {text!r}; accepted: a text")
    return text
