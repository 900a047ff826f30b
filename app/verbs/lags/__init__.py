"""``zonelab pbs`` and ``zonelab measure-lag``: what lags alone tell, and how they are measured."""
