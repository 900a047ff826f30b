"""A cluster that stays up for a manual session: what ``zonelab up`` starts and the other verbs act upon.

Read first: docs/cluster.md, then ``zonelab.app.session.session`` (the servers and coordinators),
``zonelab.app.session.supervisor`` (the process that owns them) and ``zonelab.app.session.fault_board``
(faults in force).
"""
