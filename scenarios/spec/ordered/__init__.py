"""Sections of a scenario on ordered messages: the queue, keys of the load, sinks, what must hold (docs/fifo.md)."""
