"""A queue that serves messages in order, in the manner of RocketMQ's ordered messages: docs/fifo.md says what exists.

Read first: ``engine.fifo.routing``, then ``engine.fifo.assignment``.
"""
