"""Programs of the user's own, in any language, as the clients of a run on real servers.

Read first: ``zonelab.scenarios.programs.run``, then ``processes``. What they write is in ``analysis/events``.
"""
