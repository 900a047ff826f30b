"""Decisions of the zones for a consumer group, as RocketMQ's broker makes them: locks, members, dead letters.

Every call is one round trip of plain scripts, which each zone carries out on its own clock. Calls raise ``PortError``
and, for an error reply, ``ServerError``.
"""
