"""What the command line prints: tables, progress, conclusions, JSON.

Read first: ``zonelab.scenarios.terminal.run_table``. Knows results and not how they come about. May import ``spec`` and
``analysis``.
"""
