"""Clients with a state of their own, in either arm: transactions, watched keys, waits, subscriptions.

``zonelab.engine.ports.Connection`` is one pipeline call without a state, all that an engine needs. What is here is
beside it, for programs that use ``MULTI``, ``WATCH`` and blocking commands, and the RESP port follows the same rules.
"""
