"""Zones as containers, and the image that is built for them without a registry.

Read first: ``zonelab.cluster.real.zones.docker.container``. The Docker SDK is imported when it is used, so nobody else
needs Docker.
"""
