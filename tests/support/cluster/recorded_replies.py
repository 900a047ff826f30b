"""Conversations with a real server, kept in a file: what a model has to answer where no server can be started.

Recorded by ``PYTHONPATH=tests python tests/conformance/record_replies.py``, with drawn commands. A conversation begins
with an empty server, at a time that the file names; a line of the file is one, in JSON, with bytes as Latin-1.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.cluster.redis_pair import SCANS, close, comparable

from zonelab.engine.ports import Reply, ServerError

FILE = Path(__file__).with_suffix(".jsonl")

Step = tuple[list[bytes], Reply]
"""A command, and the server's reply to it."""

Conversation = tuple[int, list[Step]]
"""When it began, in microseconds since 1970, and its steps."""


def conversations() -> list[Conversation]:
    found = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        began_us, steps = json.loads(line)
        found.append((began_us, [([word.encode("latin-1") for word in words], _read(told)) for words, told in steps]))
    return found


def keep(recorded: Iterable[Conversation]) -> None:
    lines = [
        json.dumps(
            [began_us, [[[word.decode("latin-1") for word in words], _written(told)] for words, told in steps]],
            separators=(",", ":"),
        )
        for began_us, steps in recorded
    ]
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def same(command: list[bytes], one: Reply, other: Reply) -> bool:
    """Both are the same answer to ``command``, but for orders that are not promised and for what a clock shows."""
    name = command[0].decode("latin-1").upper()
    if name in SCANS and isinstance(one, list) and isinstance(other, list):
        return _elements(name, one) == _elements(name, other)
    return comparable(name, one) == comparable(name, other) or close(name, one, other)


def _elements(name: str, page: list[Any]) -> tuple[bytes, list[Any]]:
    cursor, elements = page
    pairs = name in ("HSCAN", "ZSCAN")
    return cursor, sorted(zip(elements[::2], elements[1::2], strict=True) if pairs else elements)


def _written(reply: Reply) -> Any:
    if isinstance(reply, ServerError):
        return {"error": str(reply)}
    if isinstance(reply, list):
        return [_written(one) for one in reply]
    return reply.decode("latin-1") if isinstance(reply, bytes) else reply


def _read(told: Any) -> Reply:
    if isinstance(told, dict):
        return ServerError(told["error"])
    if isinstance(told, list):
        return [_read(one) for one in told]
    return told.encode("latin-1") if isinstance(told, str) else told
