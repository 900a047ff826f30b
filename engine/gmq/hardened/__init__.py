"""gmq's contract on the records of hardened dyno-queues: no window is left in which a zone or a program may fail.

Read first: ``engine.gmq.hardened.queue``. ``engine.gmq.hardened.dispatcher`` is the work in the background.
"""

from engine.gmq.hardened.dispatcher import HardenedDispatcher
from engine.gmq.hardened.queue import HardenedGmqQueue

__all__ = ["HardenedDispatcher", "HardenedGmqQueue"]
