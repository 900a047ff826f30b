"""The command line: options, help, exit codes and one-line errors; what a verb does is in ``zonelab.app.verbs``.

Read first: ``zonelab.app.cli.app``. Modules that a verb needs are imported when it runs, so that ``--help`` is
quick. On top of everything.
"""
