"""Guests: queues of others, each with a producer, a worker and the packages that they need.

Read first: ``zonelab.scenarios.guests.guest``. A folder for each queue has its ``guest.yaml`` and its programs.
"""
