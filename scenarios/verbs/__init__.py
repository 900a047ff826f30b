"""What each verb of ``zonelab`` does, a module a verb. Options and exit codes are in ``scenarios.cli``.

Read first: ``scenarios.verbs.run``. May import everything in ``scenarios`` but ``cli``.
"""
