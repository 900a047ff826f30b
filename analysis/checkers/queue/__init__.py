"""The checker of a queue's history: what became of each message.

Read first: ``analysis.checkers.queue.queue`` (a check from begin to end), then ``analysis.checkers.queue.messages`` and
``analysis.checkers.queue.deliveries`` (the classes). docs/verdicts.md defines them. Memory is bounded whatever the
length of the run.
"""
