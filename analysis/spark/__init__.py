"""Many runs at once with PySpark: percentiles and rates per level, operation, zone and second.

Read first: ``zonelab.analysis.spark.pipeline``. It decides the message classes in SQL and shares no code with the
checkers, so that each tests the other. Needs Java 17; nothing else does.
"""
