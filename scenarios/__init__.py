"""Runs: scenario files, clients, faults, and all that the ``zonelab`` command does with them.

Read first: ``zonelab.scenarios.spec.scenario`` (what a file may say), ``zonelab.scenarios.run_phases`` (what a run
does), then ``zonelab.scenarios.run.queue_run``. ``zonelab.app.verbs`` has a module for what each verb does;
``library`` the scenarios that ship.

Imports ``engine``, ``cluster`` and ``analysis``; nothing imports it. Within it, from the ground up: ``tasks``,
``fields``, ``run_files``; ``faults``; ``spec``; ``fault_draws``; ``queues``; ``clients``; ``run_phases``;
``terminal``, ``many_runs``; ``consistency``; ``run``; ``stories`` and ``shrink``; ``hunt``; ``studies``;
``properties``; ``session``; ``verbs``; ``cli``.
"""
