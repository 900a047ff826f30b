"""Queue engines: delay queues as pure logic over the ports, the same on real servers and in simulation.

Read first: ``zonelab.engine.ports`` (what an engine may ask of the world) and ``zonelab.engine.queue`` (what it
offers), then ``zonelab.engine.dyno.v1.queue``. ``zonelab.engine.common`` has what any engine may use,
``zonelab.engine.dyno`` the queues of Netflix dyno-queues and our hardened mode, ``zonelab.engine.sync`` a face for
ordinary blocking programs.

Imports none of the other packages: no socket, clock, thread or random number comes in except through the ports.
"""
