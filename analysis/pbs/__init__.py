"""Staleness of reads: the model of Bailis et al., Probabilistically Bounded Staleness, VLDB 2012, by Monte Carlo.

Read first: ``zonelab.analysis.pbs.messages`` (what is drawn), ``zonelab.analysis.pbs.rules`` (what a store makes of
it), then docs/pbs.md.
"""
