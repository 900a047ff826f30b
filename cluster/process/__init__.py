"""What the programs that serve a zone (``cluster.resp``, ``cluster.admin``) have in common when they start.

Imports little: both stand above it.
"""
