"""A folder of Parquet tables over many runs, which grows run by run.

Read first: ``zonelab.analysis.tables.folder``. Knows nothing of Spark, which fills the tables.
"""
