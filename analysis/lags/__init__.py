"""Distributions of delays as functions of numpy arrays: draws, distribution functions, quantiles, fits.

Read first: ``zonelab.analysis.lags.distributions``. The links of the lab draw the same distributions one by one; how
they are written, as ``lognormal:2ms:15ms``, is in docs/scenarios.md.
"""
