"""The V1 queue of Netflix dyno-queues, with the original's commands in the original's order.

Read first: ``zonelab.engine.dyno.v1.queue``, then ``zonelab.engine.dyno.v1.pop`` and ``zonelab.engine.dyno.v1.ack``;
docs/dyno-queues.md says where we depart from the original and why. Scripts are in ``lua/``, those with the original's
defects in ``lua/original/``. Imports nothing of V2 and of hardened mode.
"""
