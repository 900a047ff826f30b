"""Parts that all queue engines share: how operations fail, periodic work, waiting, locks, measurements.

Read first: ``zonelab.engine.common.failures`` (which error says what of the effect) and
``zonelab.engine.common.lifecycle``. Imports ``zonelab.engine.ports`` and ``zonelab.engine.message`` only, and knows no
engine.
"""
