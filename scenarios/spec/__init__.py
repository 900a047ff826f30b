"""The scenario file: its models, its rules, and how it is read with errors that name path, value and what is accepted.

Read first: ``zonelab.scenarios.spec.scenario``, then ``zonelab.scenarios.spec.rules`` (what no single field can check)
and ``zonelab.scenarios.spec.reading``. docs/scenarios.md is the reference for users. Near the bottom of ``scenarios``.
"""
