"""The live page of a cluster or a run that goes on, and the same figures for Prometheus.

Read first: ``zonelab.scenarios.monitor.app`` (what it answers) and ``zonelab.scenarios.monitor.feed`` (how a reading
reaches all who look). Whoever is looked at is a ``zonelab.scenarios.monitor.app.Monitored``: the session of
``zonelab up``, and a real run.
"""
