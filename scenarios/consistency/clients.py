"""Clients that carry out a plan and write every operation into the history as what it turned out to be."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace

from zonelab.analysis.runs.accesses import VALUES, VALUES_NAME
from zonelab.analysis.runs.history import OPERATIONS, History
from zonelab.analysis.runs.tables import Table
from zonelab.analysis.workloads import WorkloadKind
from zonelab.engine.ports import Connection, Runtime, ServerError
from zonelab.scenarios.clients.producers import IN_FLIGHT_MAX, OVERLOADED
from zonelab.scenarios.clients.recorder import (
    OPERATION_ERRORS,
    OperationActor,
    OperationRecorder,
    Outcome,
    outcome_of,
    text_of,
)
from zonelab.scenarios.consistency.operations import AccessAnswer, AccessRequest, answer_of, command
from zonelab.scenarios.consistency.plan import PlannedAccess
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, Tables
from zonelab.scenarios.tasks import Halt, TaskGroup

_NO_ANSWER = AccessAnswer()


class AccessRecorder(OperationRecorder):
    """Writes operations and their values; what is still open at the end is written as what it is: unknown."""

    def __init__(self, tables: Tables, runtime: Runtime, *, kind: WorkloadKind) -> None:
        super().__init__(History(tables(OPERATIONS_NAME, OPERATIONS)), runtime)
        self._values: Table = tables(VALUES_NAME, VALUES)
        self._open: dict[int, AccessRequest] = {}
        self._kind = kind
        self.keys: dict[str, None] = {}

    async def perform(
        self, connection: Connection, actor: OperationActor, request: AccessRequest, *, intended_ns: int
    ) -> AccessAnswer | None:
        """Carry out one operation and return its answer, or None if it got none."""
        op = self._begun(actor, request, intended_ns)
        try:
            (reply,) = await connection.execute(command(self._kind, request))
            if isinstance(reply, ServerError):
                raise reply
        except OPERATION_ERRORS as error:
            self._ended(op, outcome_of(error), error=text_of(error))
            return None
        answer = answer_of(request, reply)
        self._ended(op, "ok", answer)
        return answer

    def refuse(self, actor: OperationActor, request: AccessRequest, *, intended_ns: int, error: str) -> None:
        """Record an operation that the load generator itself could not begin."""
        self._ended(self._begun(actor, request, intended_ns), "fail", error=error)

    def close(self) -> None:
        for op, request in self._open.items():
            self._write(op, request, _NO_ANSWER)
        with closing(self._values):
            self._history.close()

    def _begun(self, actor: OperationActor, request: AccessRequest, intended_ns: int) -> int:
        op = self._begin(actor, request.f, intended_ns=intended_ns)
        self._open[op] = request
        self.keys[request.key] = None
        return op

    def _ended(self, op: int, outcome: Outcome, answer: AccessAnswer = _NO_ANSWER, *, error: str | None = None) -> None:
        request = self._open.pop(op)
        self._end(op, request.f, outcome, error=error)
        self._write(op, request, answer)

    def _write(self, op: int, request: AccessRequest, answer: AccessAnswer) -> None:
        members = None if answer.members is None else list(answer.members)
        self._values.append_values(
            (op, request.key, request.argument, request.expected, answer.result, answer.applied, members)
        )


class ZoneClients:
    """The clients of one zone. Each operation begins at its planned time, whatever became of the earlier ones."""

    def __init__(
        self, *, zone: str, connection: Connection, recorder: AccessRecorder, runtime: Runtime, halt: Halt
    ) -> None:
        self._zone = zone
        self._connection = connection
        self._recorder = recorder
        self._runtime = runtime
        self._halt = halt
        self._accesses = TaskGroup(runtime, halt)
        self._last_seen: dict[tuple[int, str], str | None] = {}

    @property
    def in_flight(self) -> int:
        return len(self._accesses)

    async def run(self, plan: Iterator[PlannedAccess], *, begin_ns: int) -> None:
        """Begin every access of ``plan`` at its time. Beyond ``IN_FLIGHT_MAX`` open ones it is recorded as refused."""
        for planned in plan:
            intended_ns = begin_ns + planned.offset_ns
            if await self._halt.sleep(intended_ns - self._runtime.now_ns()):
                return
            actor = OperationActor(f"client-{self._zone}-{planned.client}", self._zone)
            request = planned.request
            if planned.expects_last:
                request = replace(request, expected=self._last_seen.get((planned.client, request.key)))
            if len(self._accesses) >= IN_FLIGHT_MAX:
                self._recorder.refuse(actor, request, intended_ns=intended_ns, error=OVERLOADED)
                await self._runtime.sleep(0)
                continue
            self._accesses.spawn(self._access(planned.client, actor, request, intended_ns), name=actor.process)

    async def close(self) -> None:
        await self._accesses.dismiss()

    async def _access(self, client: int, actor: OperationActor, request: AccessRequest, intended_ns: int) -> None:
        answer = await self._recorder.perform(self._connection, actor, request, intended_ns=intended_ns)
        if answer is None:
            return
        if request.f == "write" or (request.f == "cas" and answer.applied):
            self._last_seen[client, request.key] = request.argument
        elif request.f in ("read", "cas"):
            self._last_seen[client, request.key] = answer.result


def in_flight(clients: Mapping[str, ZoneClients]) -> bool:
    return any(one.in_flight for one in clients.values())
