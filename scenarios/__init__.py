"""One run: scenario files, clients, faults, the queues under test, and the directory that a run leaves.

Read first: ``zonelab.scenarios.spec.scenario`` (what a file may say), ``zonelab.scenarios.run_phases`` (what a run
does), then ``zonelab.scenarios.run.queue_run``. ``library`` has the scenarios that ship.
"""
