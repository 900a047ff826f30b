"""Leases of hardened mode: granting them, proving them where a vote fails, and keeping them alive during work.

Read first: ``zonelab.engine.dyno.hardened.leases.lease``. Imports ``records``; what is above it (the queue, ``upkeep``)
imports it.
"""
