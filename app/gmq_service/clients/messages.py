"""Messages of the clients and their reading of answers, whichever way the bytes travel."""

import json
from dataclasses import dataclass
from typing import Any

ADDRESS_DEFAULT = "127.0.0.1:9503"
REPLY_BYTES_MAX = 64 * 1024 * 1024
_EMPTY = "empty"
_GONE = 'strconv.Atoi: parsing "": invalid syntax'
_SUCCESS = "success"


class GmqError(Exception):
    """The service did not do it. After an error of the connection nobody knows whether it did."""


class JobGone(GmqError):
    """There is no job of this id: it was acknowledged, or had a TTR of 0."""


class WrongReply(GmqError):
    """The bytes received are no reply to the request. The connection is of no use any more."""


@dataclass(frozen=True, slots=True)
class PoppedJob:
    """A delivery. ``consumed``: how many times it was delivered before."""

    id: str
    topic: str
    body: str
    delay_s: int
    ttr_s: int
    consumed: int


def request_line(method: str, argument: Any, request_id: int) -> bytes:
    """A request of JSON-RPC 1.0 as one line."""
    return json.dumps({"method": f"Service.{method}", "params": [argument], "id": request_id}).encode() + b"\n"


def push_argument(job_id: str, *, topic: str, body: str, delay_s: int, ttr_s: int) -> dict[str, str]:
    """Return the argument of a push. Raises ``ValueError`` for values that the service would refuse."""
    for name, text in (("id", job_id), ("topic", topic)):
        if not text:
            raise ValueError(f"{name} must be a non-empty string, got {text!r}")
    return {"id": job_id, "topic": topic, "body": body, "delay": str(delay_s), "TTR": str(ttr_s)}


def split_reply(line: bytes) -> tuple[Any, Any, str | None]:
    """The id of its request, the result and the error. Raises ``WrongReply``."""
    try:
        value = json.loads(line)
        return value["id"], value["result"], value["error"]
    except (ValueError, KeyError, TypeError) as error:
        raise WrongReply(f"got {line[:200]!r}, which is no reply of JSON-RPC") from error


def result_of(line: bytes, request_id: int) -> Any:
    """Return the result in a reply. Raises ``WrongReply`` if it answers another request, ``GmqError`` for an error."""
    told_id, result, error = split_reply(line)
    if told_id != request_id:
        raise WrongReply(f"asked with id {request_id}, got the reply to id {told_id!r}")
    return checked(result, error)


def checked(result: Any, error: str | None) -> Any:
    """None for a Pop that found nothing. Raises ``GmqError``."""
    if error == _EMPTY:
        return None
    if error is not None:
        raise (JobGone if error == _GONE else GmqError)(error)
    return result


def check_pushed(result: Any) -> None:
    """The service returns errors of a push as results. Raises ``GmqError``."""
    if result != _SUCCESS:
        raise GmqError(str(result))


def popped(result: Any) -> PoppedJob | None:
    """The job in the answer to a pop; None if there was none."""
    if result is None:
        return None
    return PoppedJob(
        id=result["id"],
        topic=result["topic"],
        body=result["body"],
        delay_s=int(result["delay"]),
        ttr_s=int(result["TTR"]),
        consumed=int(result["consume_num"]),
    )
