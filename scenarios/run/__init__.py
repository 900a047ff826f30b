"""One run of a scenario, in simulation or on real servers.

Read first: ``zonelab.scenarios.run.queue_run`` (what happens, in either arm), then ``zonelab.scenarios.run.simulated``
and ``zonelab.scenarios.run.on_servers``. ``zonelab.scenarios.run.trial`` is a run that is judged in memory, as
hunts make them by the thousand.
"""
