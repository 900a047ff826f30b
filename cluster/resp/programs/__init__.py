"""Programs that connect at an address of their own: their commands are counted, and they can be held at one of them.

Read first: ``zonelab.cluster.resp.programs.program``, then ``hold``, which is one hold from beginning to end.
"""
