"""A small run told on one page: operation by operation, command by command, zone by zone.

Read first: ``zonelab.studies.stories.story``; ``zonelab.scenarios.run.command_log`` listens to a run
without changing it.
"""
