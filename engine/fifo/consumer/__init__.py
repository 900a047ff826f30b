"""One member of a consumer group: the locks it holds, what it caches, and the loop that hands messages to a listener.

Read first: ``zonelab.engine.fifo.consumer.consume_loop``; then ``rebalance``, ``ownership`` and ``pull``. Source of all
rules: RocketMQ's push consumer in version 4.9.4 or 5.3.1, in ordered mode.
"""
