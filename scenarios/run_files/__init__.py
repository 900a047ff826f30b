"""The files of a run while they are written: its directory, its tables, ``run.json``.

Read first: ``zonelab.scenarios.run_files.directory``. The format belongs to ``zonelab.analysis.runs``, which reads
them. Near the bottom of ``scenarios``.
"""
