"""RESP as bytes: commands found in what a client sends, replies cut out of what a server sends, neither parsed.

Read first: ``zonelab.cluster.resp.protocol.scanner``, then ``zonelab.cluster.resp.protocol.upstream`` (the connection
to a server). Knows nothing of clients and commands.
"""
