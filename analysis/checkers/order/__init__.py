"""The checker of ordered messages: properties I1 to I14 and partitions that stood still.

Read first: ``analysis.checkers.order.order`` (the whole check), then ``analysis.checkers.order.properties``.
"""
