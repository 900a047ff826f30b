"""Samples how many messages each zone's shards list, straight from the servers, while the run goes on."""

from zonelab.analysis.runs.tables import Table
from zonelab.engine.ports import PortError, Runtime
from zonelab.scenarios.queues.under_test import Depth, QueueUnderTest
from zonelab.scenarios.tasks import Halt, TaskGroup

INTERVAL_NS = 250_000_000


class _Question:
    """One requested reading of a depth; ``depth`` is None unless the server has answered."""

    def __init__(self) -> None:
        self.answered = False
        self.depth: Depth | None = None


class DepthSampler:
    """One row per zone and interval. A server that has not answered by the next interval gets a row without depths,
    and is not asked again until it has: questions do not pile up in front of a paused server.
    """

    def __init__(self, *, queue: QueueUnderTest, table: Table, runtime: Runtime, tasks: TaskGroup, halt: Halt) -> None:
        self._queue = queue
        self._table = table
        self._runtime = runtime
        self._tasks = tasks
        self._halt = halt

    def start(self) -> None:
        for zone in dict.fromkeys(self._queue.shards.values()):
            self._tasks.spawn(self._watch(zone), name=f"depth {zone}")

    async def _watch(self, zone: str) -> None:
        while not self._halt.called:
            question = _Question()
            asked_ns = self._runtime.now_ns()
            self._tasks.spawn(self._ask(zone, question), name=f"depth {zone} question")
            await self._halt.sleep(INTERVAL_NS)
            self._write(zone, asked_ns, question.depth)
            while not question.answered and not self._halt.called:
                missed_ns = self._runtime.now_ns()
                await self._halt.sleep(INTERVAL_NS)
                self._write(zone, missed_ns, None)

    async def _ask(self, zone: str, question: _Question) -> None:
        try:
            own = [shard for shard, serving in self._queue.shards.items() if serving == zone]
            depths = [await self._queue.depth(shard) for shard in own]
        except PortError:
            pass  # a zone without a depth is what the sample then says
        else:
            question.depth = Depth(sum(depth.waiting for depth in depths), sum(depth.leased for depth in depths))
        finally:
            question.answered = True

    def _write(self, zone: str, time_ns: int, depth: Depth | None) -> None:
        self._table.append(
            {
                "time_ns": time_ns,
                "zone": zone,
                "waiting": depth.waiting if depth else None,
                "leased": depth.leased if depth else None,
            }
        )
