"""A queue that serves messages in order, in the manner of RocketMQ's ordered messages: docs/fifo.md says what exists.

Read first: ``engine.fifo.log.partition_log``, then ``engine.fifo.zones.locks`` and ``engine.fifo.consumer.member``.
``engine.fifo.routing`` says which partition a key goes to, ``engine.fifo.assignment`` which partitions a member of a
group gets, ``engine.fifo.modes`` what the versions of RocketMQ differ in.
"""
