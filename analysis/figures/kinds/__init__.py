"""The figures of ``zonelab plot``, one module for those that are alike, and the lines and intervals that they share.

Read first: ``zonelab.analysis.figures.draw``, then docs/plots.md. ``names`` loads nothing, for the command line.
"""
