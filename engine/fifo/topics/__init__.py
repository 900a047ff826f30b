"""How many partitions a topic has, and how that changes while producers and consumers go on.

Read first: ``zonelab.engine.fifo.topics.route``, then ``resize``; ``followed`` is what a program knows of it.
"""
