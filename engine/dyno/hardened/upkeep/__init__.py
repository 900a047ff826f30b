"""What an open queue of hardened mode does in the background: compare zones, adopt orphans, serve shards of others.

Read first: ``zonelab.engine.dyno.hardened.upkeep.keeper``, which calls the others in turn. Imports ``records``.
"""
