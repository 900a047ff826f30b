"""Adapters that put a queue engine under test, and their catalogue.

Read first: ``scenarios.queues.catalogue``: what a run needs of a queue, whatever its engine. A new engine is one module
here and one line there. May import ``spec`` and the engines.
"""
