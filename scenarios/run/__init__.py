"""One run of a scenario, in simulation or on real servers.

Read first: ``scenarios.run.queue_run`` (what happens, in either arm), then ``scenarios.run.simulated`` and
``scenarios.run.on_servers``. ``scenarios.run.trial`` is a run that is judged in memory, as hunts make them by the
thousand. May import ``clients``, ``consistency`` and what is below them.
"""
