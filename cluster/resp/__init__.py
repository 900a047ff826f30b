"""A RESP server in front of a coordinator: any Redis client, in any language, becomes a client of the cluster.

Read first: ``zonelab.cluster.resp.server`` (listens), ``zonelab.cluster.resp.session`` (one connection),
``zonelab.cluster.resp.client`` (what commands know of it), then docs/resp.md. ``protocol`` is bytes, ``commands`` what
a port does with each command, ``gateway`` the process of one zone; ``python -m zonelab.cluster.resp`` starts one. Only
``zonelab.cluster.admin`` stands above it.
"""
