"""Lags as distributions, and how they are measured between places."""
