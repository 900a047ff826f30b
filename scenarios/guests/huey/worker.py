"""Runs huey's consumer with two threads."""

from jobs import huey

print("listening", flush=True)
huey.create_consumer(workers=2).run()
