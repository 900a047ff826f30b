"""gmq's contract on the records of hardened dyno-queues: no window is left in which a zone or a program may fail.

Read first: ``zonelab.engine.gmq.hardened.queue``. ``zonelab.engine.gmq.hardened.dispatcher`` is the work in the
background.
"""

from zonelab.engine.gmq.hardened.dispatcher import HardenedDispatcher
from zonelab.engine.gmq.hardened.queue import HardenedGmqQueue

__all__ = ["HardenedDispatcher", "HardenedGmqQueue"]
