"""One-way links between zones: lag, loss, duplication, cuts. All faults of the network act here.

Read first: ``zonelab.cluster.links.link``, then ``zonelab.cluster.links.lag`` for the distributions and
``zonelab.cluster.links.lag_text`` for how they are written. At the bottom of ``cluster``: imports the ports only.
"""
