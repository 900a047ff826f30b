"""The inbox, where producers put records that have no offset yet. Puts commute: zones may receive them in any order."""

from collections.abc import Sequence

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.pipelines import write as voted
from zonelab.engine.fifo.fenced.admission import Admission
from zonelab.engine.fifo.fenced.keys import FencedKeys
from zonelab.engine.fifo.fenced.register import ATTEMPTS
from zonelab.engine.fifo.fenced.scripts import run
from zonelab.engine.fifo.fenced.views import Unadmitted
from zonelab.engine.fifo.log.partition_log import Sealed
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Clock, Connection, Indeterminate


class Inbox:
    """``decides``: a connection that answers what two zones answered."""

    def __init__(self, *, decides: Connection, admission: Admission, keys: FencedKeys, clock: Clock) -> None:
        self._decides, self._admission, self._keys, self._clock = decides, admission, keys, clock

    async def put(self, partition: Partition, records: Sequence[PartitionRecord], *, delayed: bool = False) -> None:
        """Two zones have ``records`` when it returns; what was there stays. ``delayed``: none is due at once.

        Raises what the port raises, and ``Sealed`` if two zones take nothing more; the third may have them.
        """
        keys = self._keys
        inbox = (keys.delayed if delayed else keys.inbox)(partition)
        names = [keys.meta(partition), keys.registers(partition), inbox]
        words = [word for record in records for word in (record.due_ms or self._clock.now_ms(), record.text())]
        perhaps = False
        for _ in range(ATTEMPTS):
            era = await self._admission.era(partition)
            if era is None:
                break
            try:
                (reply,) = await voted(self._decides, [run("push", names, era, *words)], name="push")
            except COMMAND_FAILURES as error:
                self._admission.forget(partition)
                if perhaps:
                    raise Indeterminate(f"{partition.name}: an earlier attempt may be in a zone; {error}") from error
                raise
            if reply == b"ok":
                return
            if reply == b"sealed":
                raise Sealed(f"partition {partition.name} is sealed")
            self._admission.forget(partition)
            perhaps = True  # two zones refused; the third is not known
        why = f"{partition.name}: too few zones are admitted, or they change"
        raise Indeterminate(why) if perhaps else Unadmitted(why)
