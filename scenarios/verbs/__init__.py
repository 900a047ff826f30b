"""What each verb of ``zonelab`` does, a module a verb. Options and exit codes are in ``zonelab.scenarios.cli``.

Read first: ``zonelab.scenarios.verbs.run``. May import everything in ``scenarios`` but ``cli``.
"""
