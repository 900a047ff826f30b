"""What a scenario says of ordered messages: the queue, keys of the load, sinks, what must hold (docs/fifo.md)."""
