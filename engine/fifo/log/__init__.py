"""The log of a partition: what producers append and groups read.

Read first: ``engine.fifo.log.partition_log``, then ``engine.fifo.log.producer``.
"""
