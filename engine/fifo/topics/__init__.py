"""The number of partitions of a topic, and its change while producers and consumers go on.

Read first: ``zonelab.engine.fifo.topics.route``, then ``resize``; ``followed`` is what a program knows of it.
"""
