"""The log of a partition: what producers append and groups read.

Read first: ``zonelab.engine.fifo.log.partition_log``, then ``zonelab.engine.fifo.producer``.
"""
