"""Ordered messages (engine fifo) as the queue under test, and the events that programs report of them."""
