"""One-way links between zones: lag, loss, duplication, cuts. All faults of the network act here.

Read first: ``cluster.links.link``, then ``cluster.links.lag`` for the distributions and ``cluster.links.lag_text`` for
how they are written. At the bottom of ``cluster``: imports the ports only.
"""
