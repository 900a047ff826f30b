"""The verbs of ``zonelab``, a module each. Options and exit codes are in ``zonelab.scenarios.cli``.

Read first: ``zonelab.scenarios.verbs.run``. May import everything in ``scenarios`` but ``cli``.
"""
