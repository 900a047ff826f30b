"""A queue that serves messages in order, in the manner of RocketMQ's ordered messages: docs/fifo.md says what exists.

Read first: ``zonelab.engine.fifo.log.partition_log``, then ``zonelab.engine.fifo.zones.locks`` and
``zonelab.engine.fifo.member``. ``zonelab.engine.fifo.routing`` says which partition a key goes to,
``zonelab.engine.fifo.assignment`` which partitions a member of a group gets, ``zonelab.engine.fifo.modes`` what the
versions of RocketMQ differ in.
"""
