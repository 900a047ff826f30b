"""Runs in the formats of other tools: Perfetto, OpenTelemetry, Jepsen, Porcupine and CSV.

Read first: ``zonelab.analysis.interchange.run_events``, then one of the formats, as
``zonelab.analysis.interchange.jepsen``.
"""
