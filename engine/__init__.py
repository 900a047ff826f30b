"""Queue engines: pure logic over the ports of ``engine.ports``, the same on real servers and in simulation."""
