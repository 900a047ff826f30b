"""The programs of a run: producers and consumers, how they crash, and the recorder of what they do.

Read first: ``zonelab.scenarios.clients.recorder`` (the one way from clients to queues), then
``zonelab.scenarios.clients.producers`` and ``zonelab.scenarios.clients.consumers``. Carried into simulation: ports
only.
"""
