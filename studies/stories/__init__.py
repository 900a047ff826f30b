"""A small run told on one page: operation by operation, command by command, zone by zone.

Read first: ``zonelab.studies.stories.story``; ``zonelab.studies.stories.command_log`` listens to a run
without changing it.
"""
