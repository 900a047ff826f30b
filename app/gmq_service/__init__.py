"""gmq as a process of its own, which programs of any language talk to: ``zonelab gmq``.

It serves what gmq v1.0 serves, JSON-RPC over TCP and the JSON of its web monitor, and the HTTP API of Youzan's queue,
on one Redis or Valkey server or on a zone's port of ``zonelab up`` (docs/gmq-service.md). Read first:
``process.service``, then ``rpc.methods``. For programs in Python: ``clients``.
"""
