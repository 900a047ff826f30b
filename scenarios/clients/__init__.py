"""The programs of a run: producers and consumers, how they crash, and the recorder of what they do.

Read first: ``scenarios.clients.recorder`` (the one way from clients to queues), then ``scenarios.clients.producers``
and ``scenarios.clients.consumers``. Carried into simulation: ports only. May import ``queues`` and ``spec``.
"""
