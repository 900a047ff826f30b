"""Planted bugs of ordered messages, and for each a small run that it breaks.

    cd tests && python -m support.order_mutants [NAME ...]

For each bug: seeds of its class of faults, until a run breaks its property with the bug and keeps it without, and is
shrunk to few faults and messages. The rows for docs/fifo-windows.md are printed, and the small runs stored for the test
that repeats them.
"""
