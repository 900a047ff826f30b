"""Windows of producers: routes that change, attempts that land late, several messages in flight."""

from support.engine.fifo import NS_PER_MS

from zonelab.engine.ports import Indeterminate

KEYS = [f"k{number}" for number in range(8)]


class LandsLater:
    """A connection whose first command is answered with a time-out, and arrives ``late_ms`` later."""

    def __init__(self, inner, runtime, late_ms):
        self._inner, self._runtime, self._late_ms, self._first = inner, runtime, late_ms, True

    async def execute(self, *commands):
        if not self._first:
            return await self._inner.execute(*commands)
        self._first = False

        async def lands():
            await self._runtime.sleep(self._late_ms * NS_PER_MS)
            await self._inner.execute(*commands)

        self._runtime.spawn(lands(), name="lands later")
        raise Indeterminate("time-out")


def _consumed(stage):
    (stage if stage.programs else stage.joins()).all_done()
    ids = [each.message_id for each in stage.told.of("end")]
    return f"served {' '.join(ids)}" if len(ids) < 8 else ""


def w11_number_of_partitions_changes(stage):
    stage.work_ms = 100
    sender = stage.sender(route=stage.route())
    for name in "mn":
        stage.start(name, route=stage.route())
    stage.send(sender, 60, *KEYS)
    stage.run(stage.resizing().numbers(write=3, read=3))
    stage.pause_ms(stage.times_ms.route)
    stage.send(sender, 40, *KEYS)
    stage.all_done()
    return stage.says()


def w12_partitions_in_another_order(stage):
    sender = stage.sender()
    stage.send(sender, 4, *KEYS[:4])
    stage.partitions.reverse()
    stage.send(sender, 4, *KEYS[:4])
    return stage.says(_consumed(stage))


def w13_late_first_attempt(stage):
    slow = LandsLater(stage.lab.direct("a"), stage.lab.runtime, 500)
    sender = stage.sender(sending="retrying", logs=stage.through(slow))
    stage.send(sender, 3)
    stage.pause_ms(1_000)
    stage.joins().pause_ms(500)
    return stage.says(_consumed(stage))


def w14_several_in_flight(stage):
    slow = LandsLater(stage.lab.direct("a"), stage.lab.runtime, 500)
    sender = stage.sender(sending="asynchronous", logs=stage.through(slow))
    stage.send_at_once(sender, "x0", "x1", "x2")
    stage.sent = 3
    stage.pause_ms(1_000)
    return stage.says(_consumed(stage))


def w15_several_producers_of_a_key(stage):
    senders = {name: stage.sender(name) for name in "pq"}
    for name in "pqqp":
        stage.send(senders[name], 1)
    return stage.says(_consumed(stage))


SETTINGS = {
    w11_number_of_partitions_changes: {"partitions": 2, "unit": "key"},
    w12_partitions_in_another_order: {"partitions": 2, "unit": "key"},
}
COURSES = {name: course for name, course in list(globals().items()) if name.startswith("w") and name[1:3].isdigit()}
