"""Parts of a run with ordered messages that other runs lack: its order history, its sink, logs and cursors at rest."""

from contextlib import closing
from dataclasses import dataclass
from typing import Self

from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME, OrderHistory
from zonelab.engine.ports import PortError
from zonelab.scenarios.clients.sinks import Sink
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.queues.under_test import OrderedQueueUnderTest, QueueUnderTest
from zonelab.scenarios.run_phases import RunContext
from zonelab.scenarios.spec.scenario import Scenario


@dataclass(frozen=True, slots=True)
class OrderedRun:
    queue: OrderedQueueUnderTest
    sink: Sink | None
    context: RunContext
    history: OrderHistory

    @classmethod
    def of(cls, queue: QueueUnderTest, context: RunContext) -> Self | None:
        """None if ``queue`` keeps no order."""
        if not isinstance(queue, OrderedQueueUnderTest):
            return None
        history = OrderHistory(context.tables(ORDER_NAME, ORDER))
        queue.record(context.closing.enter_context(closing(history)))
        return cls(queue, _sink(context.scenario), context, history)

    async def read_end_state(self) -> None:
        """Read the end state. Zones that could not be read are in ``RunRecord.unread_zones``."""
        with closing(self.context.tables(FINAL_ORDER_NAME, FINAL_ORDER)) as table:
            for zone in self.context.scenario.zones:
                try:
                    async for row in self.queue.final_order(zone):
                        table.append(row)
                except PortError as error:
                    LOGGER.warning("logs and cursors of zone %s could not be read: %s", zone, error)
            for row in self.sink.rows() if self.sink is not None else ():
                table.append(row)


def _sink(scenario: Scenario) -> Sink | None:
    settings, keys = scenario.sink, scenario.load.keys
    if settings is None:
        return None
    states = (keys.states if keys is not None else None) or ()
    return Sink(settings.kind, scenario.sink_fenced, states)
