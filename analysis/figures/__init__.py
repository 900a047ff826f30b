"""Plots of runs, of comparisons and of sessions, and the data and style behind them.

Read first: ``zonelab.analysis.figures.plots``.
"""
