"""The verbs of ``zonelab``, a module each. Options and exit codes are in ``zonelab.app.cli``.

Read first: ``zonelab.app.verbs.run``.
"""
