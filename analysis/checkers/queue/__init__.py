"""The checker of a queue's history: what became of each message.

Read first: ``zonelab.analysis.checkers.queue.queue`` (a check from begin to end), then
``zonelab.analysis.checkers.queue.messages`` and ``zonelab.analysis.checkers.queue.deliveries`` (the classes).
docs/verdicts.md defines them. Memory is bounded whatever the length of the run.
"""
