"""Faults: what each kind does to a cluster and its programs, how it is undone, and when.

Read first: ``zonelab.scenarios.faults.catalogue``, then docs/scenarios.md for what each kind stands for. The same code
acts in both arms, on a ``zonelab.cluster.testbed.Testbed``.
"""
