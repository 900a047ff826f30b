"""What queue engines share, whatever their design: how operations fail, periodic work, waiting, locks, measurements.

Read first: ``engine.common.failures`` (which error says what of the effect) and ``engine.common.lifecycle``. Imports
``engine.ports`` and ``engine.message`` only, and knows no engine.
"""
