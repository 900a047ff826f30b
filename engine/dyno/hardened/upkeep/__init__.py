"""Background work of an open queue in hardened mode: compare zones, adopt orphans, serve shards of others.

Read first: ``zonelab.engine.dyno.hardened.upkeep.keeper``, which calls the others in turn. Imports ``records``.
"""
