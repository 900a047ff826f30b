"""Strict mode: what works here and not on Netflix Dynomite 0.6 is refused, so that what works here works there.

Read first: ``zonelab.cluster.options.strict.forms``, the table of what is refused. ``door`` looks at what clients send
and are sent, ``votes`` at how the zones' answers were counted.
"""
