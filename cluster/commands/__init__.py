"""Properties of single Redis commands: which are writes, which zones get them, where their keys are.

Read first: ``zonelab.cluster.commands.routes``. At the bottom of ``cluster``: imports the ports only.
"""
