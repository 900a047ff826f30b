"""Output of the command line: tables, progress, conclusions, JSON.

Read first: ``zonelab.app.terminal.run_table``. Knows results and not how they come about.
"""
