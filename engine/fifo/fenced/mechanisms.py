"""Mechanisms of mode ``fenced``, by the names under which each can be switched off."""

from enum import StrEnum


class Fencing(StrEnum):
    """docs/fifo.md says what each is for.

    ``majority-decisions``: decided is what two zones did, whatever the level. ``adoption``: a new owner takes the
    newest state of two zones and writes it back. ``ordered-writes``: zones refuse older tokens and numbers.
    ``one-writer``: only who holds the register of a log gives offsets. ``proven-entries``: only what was decided is
    handed out. ``admission``: a process that may have lost something does not vote. ``stored-attempts``: failures are
    kept beside the cursor. ``drained-release``: a partition is given back when its listener has ended and its cursor is
    stored. ``lease-margin``: a lease counts as ended only a while after its end.
    """

    MAJORITY_DECISIONS = "majority-decisions"
    ADOPTION = "adoption"
    ORDERED_WRITES = "ordered-writes"
    ONE_WRITER = "one-writer"
    PROVEN_ENTRIES = "proven-entries"
    ADMISSION = "admission"
    STORED_ATTEMPTS = "stored-attempts"
    DRAINED_RELEASE = "drained-release"
    LEASE_MARGIN = "lease-margin"
