"""A model of the protocol behind fenced ordered queues, of which every interleaving is tried (docs/fifo-admission.md).

One partition, three zones, owners that ask for it, zones that lose their data and are let in again. It knows nothing of
the engine: it is what the engine was designed against.
"""
