"""What a RESP port does with each command: forward it, answer it itself, wait, subscribe, or refuse.

Read first: ``cluster.resp.commands.command_table`` (how each command is treated), then
``cluster.resp.commands.dispatch``.
"""
