"""Parts that serving programs share: their file of settings, and locks on files.

Imports little: ``zonelab.cluster.resp``, ``zonelab.cluster.admin`` and the programs of ``scenarios`` stand above it.
"""
