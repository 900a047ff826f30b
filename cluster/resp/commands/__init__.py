"""Treatment of each command by a RESP port: forward it, answer it itself, wait, subscribe, or refuse.

Read first: ``zonelab.cluster.resp.protocol.command_table`` (how each command is treated), then
``zonelab.cluster.resp.commands.dispatch``.
"""
