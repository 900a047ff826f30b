"""How many partitions a topic has, and how that changes while producers and consumers go on.

Read first: ``engine.fifo.topics.route``, then ``resize``; ``followed`` is what a program knows of it.
"""
