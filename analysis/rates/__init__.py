"""Rates of many runs of several kinds put together: what a year with faults costs, and how sure that is.

Read first: ``zonelab.analysis.rates.year``. Nothing here makes runs, so all of it is tested on made-up outcomes.
"""
