"""A multi-zone cluster testbed and consistency lab for delay queues on Redis.

``engine``, ``cluster``, ``scenarios`` and ``analysis`` are the folders of these names at the top of the repository, to
which this package has links (docs/decisions/0012-one-package-of-links.md).
"""
