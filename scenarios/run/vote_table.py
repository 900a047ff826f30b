"""The votes of a run on real servers, written into its table while it goes on, and read from there."""

from collections.abc import Iterator, Sequence
from typing import Any

import hiredis
import pyarrow as pa
import pyarrow.compute as pc

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.tables import Table
from zonelab.analysis.runs.votes import FAILED, IN_DOUBT, VOTES, VOTES_NAME
from zonelab.cluster.connections.batch import Answer, Batch
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.real.upstream import pack
from zonelab.engine.ports import Argument, Command, Reply, ServerError
from zonelab.scenarios.run.command_log import LAB, SentBatch, SentCommand, commands_of
from zonelab.scenarios.run.naming import MessageNaming

COMMANDS_MAX = 200_000
"""Commands of a run that are recorded: the last of a longer one are not."""

_WORD_BYTES_MAX = 1_000
"""A longer word is a script or a body, of which the begin is kept."""


class VoteRecorder:
    """``zonelab.scenarios.run.command_log.CommandListener`` that appends to ``table`` and is closed at the end."""

    def __init__(self, table: Table, *, commands_max: int = COMMANDS_MAX) -> None:
        self.program = LAB
        self._table = table
        self._left = commands_max
        self._open: dict[Batch, SentBatch] = {}
        self._sending: Batch | None = None  # has been sent to some zones, and may yet be to others

    def sent(self, batch: Batch, *, time_ns: int, source: str, target: str) -> SentBatch | None:
        """Note that ``batch`` goes from ``source`` to ``target``; None once as many are recorded as may be."""
        if batch is not self._sending:
            self._settle()
            self._sending = batch
        sent = self._open.get(batch)
        if sent is None:
            if self._left <= 0:
                return None
            self._open[batch] = sent = SentBatch(time_ns, self.program, source, batch.commands)
        sent.answers[target] = None
        return sent

    def answered(self, batch: Batch, sent: SentBatch) -> None:
        """Write ``batch`` if every zone has answered."""
        if batch is not self._sending and not sent.open:
            self._write(batch, sent)

    def close(self) -> None:
        """Write what was never answered, and close the table."""
        self._sending = None
        for batch, sent in list(self._open.items()):
            self._write(batch, sent)
        self._table.close()

    def _settle(self) -> None:
        """Write the batch that was being sent if all its answers came meanwhile."""
        batch, self._sending = self._sending, None
        if batch is not None and (sent := self._open.get(batch)) is not None:
            self.answered(batch, sent)

    def _write(self, batch: Batch, sent: SentBatch) -> None:
        self._open.pop(batch, None)
        if self._left <= 0 or (not batch.writes and _found_nothing(sent)):
            return
        times, answers = zip(*map(_packed_answer, sent.answers.values()), strict=True)
        row = sent.time_ns, sent.program, sent.zone, _packed_commands(batch), list(sent.answers), times, answers
        self._table.append_values(row)
        self._left -= len(batch.commands)
        if self._left <= 0:
            first_ns = min([one.time_ns for one in self._open.values()], default=sent.time_ns)
            self._table.append_values((first_ns, *[None] * (len(VOTES) - 1)))


def _found_nothing(sent: SentBatch) -> bool:
    answers = [answer[1] for answer in sent.answers.values() if answer is not None]
    return bool(answers) and all(isinstance(one, list) and all(reply == [] for reply in one) for one in answers)


def _packed_commands(batch: Batch) -> bytes:
    if batch.packed is not None and len(batch.packed) <= _WORD_BYTES_MAX:
        return batch.packed
    return b"".join(pack(tuple(map(_cut, command))) for command in batch.commands)


def _cut(word: Argument) -> Argument:
    word = word.encode() if isinstance(word, str) else word
    return word[:_WORD_BYTES_MAX] if isinstance(word, bytes) else word


def _packed_answer(answer: tuple[int, Answer] | None) -> tuple[int | None, bytes | None]:
    if answer is None:
        return None, None
    time_ns, replies = answer
    if isinstance(replies, ZoneFailure):
        return time_ns, (IN_DOUBT if replies.maybe_applied else FAILED) + str(replies).encode()
    return time_ns, b"".join(map(_packed_reply, replies))


def _packed_reply(reply: Reply) -> bytes:
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if reply is None:
        return b"$-1\r\n"
    if isinstance(reply, ServerError):
        return b"-%b\r\n" % str(reply).encode()
    if isinstance(reply, list):
        return b"*%d\r\n%b" % (len(reply), b"".join(map(_packed_reply, reply)))
    kept = reply[:_WORD_BYTES_MAX]
    return b"$%d\r\n%b\r\n" % (len(kept), kept)


def has_votes(run: RunDirectory) -> bool:
    """Return whether the run has recorded its votes. Raises ``RunError``."""
    return bool(run.files(VOTES_NAME))


def recorded_votes(run: RunDirectory, namings: Sequence[MessageNaming] = ()) -> tuple[list[SentCommand], int | None]:
    """Return what a run has recorded of commands that touch one of the messages, all without ``namings``.

    The second is the time from which on some were not recorded, and none is returned; None if all were.
    Raises ``RunError``.
    """
    batches: list[SentBatch] = []
    until_ns = None
    for part in run.batches(VOTES_NAME, VOTES):
        for row in part.filter(_naming(part, namings)).to_pylist():
            if row["commands"] is None:
                until_ns = row["time_ns"]
            else:
                batches.append(_batch_of(row))
    whole = (one for one in batches if until_ns is None or one.time_ns < until_ns)
    return commands_of(sorted(whole, key=lambda one: one.time_ns), namings), until_ns


def _naming(part: pa.RecordBatch, namings: Sequence[MessageNaming]) -> pa.Array:
    """Mark the rows that may name one of the messages, and the one that ends the table."""
    marked = pc.is_null(part["commands"]) if namings else pc.is_valid(part["time_ns"])
    answers, rows = pc.list_flatten(part["answers"]), pc.list_parent_indices(part["answers"])
    numbers = pa.array(range(len(part)), rows.type)
    for naming in namings:
        word = naming.message_id.encode()
        marked = pc.or_(marked, pc.fill_null(pc.match_substring(part["commands"], word), fill_value=False))
        answering = pc.filter(rows, pc.fill_null(pc.match_substring(answers, word), fill_value=False))
        marked = pc.or_(marked, pc.is_in(numbers, value_set=answering))
    return marked


def _batch_of(row: dict[str, Any]) -> SentBatch:
    commands: list[Command] = [tuple(one) for one in _replies(row["commands"])]
    answers = zip(row["answered_ns"], row["answers"], strict=True)
    every: dict[str, tuple[int, Answer] | None] = {
        zone: None if time_ns is None else (time_ns, _answer(answer))
        for zone, (time_ns, answer) in zip(row["asked"], answers, strict=True)
    }
    return SentBatch(row["time_ns"], row["program"], row["zone"], commands, every)


def _answer(packed: bytes) -> Answer:
    if packed[:1] in (FAILED, IN_DOUBT):
        return ZoneFailure(packed[1:].decode(), maybe_applied=packed[:1] == IN_DOUBT)
    return list(_replies(packed))


def _replies(packed: bytes) -> Iterator[Any]:
    reader = hiredis.Reader(replyError=ServerError)
    reader.feed(packed)
    while reader.has_data():
        reply = reader.gets()
        if reply is False:
            return
        yield reply
