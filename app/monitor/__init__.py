"""The live page of a cluster or a run that goes on, and the same figures for Prometheus.

Read first: ``zonelab.app.monitor.app`` (what it answers) and ``zonelab.app.monitor.feed`` (how a reading
reaches all who look). Whoever is looked at is a ``zonelab.app.monitor.app.MonitorSources``: the session of
``zonelab up``, and a real run.
"""
