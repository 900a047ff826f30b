"""Known failures: published failures of queues, each with a scenario that shows it and a control that does not.

Read first: ``zonelab.studies.known.failure``. ``failures`` has a folder for each, ``measured.json`` what was measured.
"""
