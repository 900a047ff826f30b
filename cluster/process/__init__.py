"""What programs have in common that serve something: their file of settings, and locks on files.

Imports little: ``zonelab.cluster.resp``, ``zonelab.cluster.admin`` and the programs of ``scenarios`` stand above it.
"""
