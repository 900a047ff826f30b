"""Run directories and the history format, which this package owns.

Read first: ``zonelab.analysis.runs.history`` (the columns and the writer), then ``zonelab.analysis.runs.directory``
(typed reading, errors as one line). ``zonelab.analysis.runs.builder`` writes runs by hand, for tests of checkers. At
the bottom of ``analysis``.
"""
