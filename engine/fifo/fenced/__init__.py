"""Ordered messages on three zones without a leader: mode ``fenced``. docs/fifo.md has the design and what it promises.

Read first: ``zonelab.engine.fifo.fenced.register``, whose state one owner at a time writes; then ``admission``, which
keeps zones that may have lost something from voting, ``log``, which gives offsets, and ``cursor``.
"""
