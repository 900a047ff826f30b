"""Ordered messages (engine fifo) as the queue under test, and what programs tell of them."""
