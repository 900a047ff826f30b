"""Five of the properties of ordered messages once more, in Spark's SQL.

It shares no code with ``zonelab.analysis.checkers.order``: where the two agree, each confirms the other.
"""
