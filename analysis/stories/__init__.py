"""Stories of violations, told from the history of a run, simulated or real: what happened, line by line.

Read first: ``zonelab.analysis.stories.message_stories``.
"""
