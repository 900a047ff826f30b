"""The command line: options, help, exit codes and one-line errors; what a verb does is in ``zonelab.scenarios.verbs``.

Read first: ``zonelab.scenarios.cli.app``. Modules that a verb needs are imported when it runs, so that ``--help`` is
quick. On top of everything.
"""
