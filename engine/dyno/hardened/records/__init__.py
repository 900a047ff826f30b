"""Records of hardened mode: what each zone stores of a message, and the Lua scripts that change it in one step.

Read first: ``zonelab.engine.dyno.hardened.records.record``, then ``zonelab.engine.dyno.hardened.records.steps``; the
scripts are in ``lua/``. Imports nothing else of hardened mode but its settings.
"""
