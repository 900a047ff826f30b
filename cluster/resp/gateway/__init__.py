"""The process of one zone: its coordinator with links and connections, and its RESP port.

Read first: ``zonelab.cluster.resp.gateway.gateway``; ``zonelab.cluster.resp.gateway.configuration`` is what its
settings file may say.
"""
