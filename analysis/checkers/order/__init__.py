"""The checker of ordered messages: properties I1 to I14 and partitions that stood still.

Read first: ``zonelab.analysis.checkers.order.order`` (the whole check), then
``zonelab.analysis.checkers.order.properties``.
"""
