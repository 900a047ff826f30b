"""The fingerprint of a run: equal for equal runs, different as soon as one event differs."""

from array import array
from hashlib import sha256

_FLUSH_NOTES = 1 << 10


class Trace:
    """SHA-256 over the time of every event and over the time, kind and name of every event that was noted.

    With ``keep`` the notes stay in ``notes``, so that two runs can be compared line by line.
    """

    def __init__(self, *, keep: bool = False) -> None:
        self.notes: list[str] | None = [] if keep else None
        self.times_ns = array("q")
        """Where the times of the events are to be appended; it takes integers only. Emptied now and then."""
        self._events = 0
        self._event_digest = sha256()
        self._note_digest = sha256()
        self._unhashed: list[str] = []

    @property
    def events(self) -> int:
        return self._events + len(self.times_ns)

    def note(self, time_ns: int, kind: str, name: str) -> None:
        line = f"{time_ns} {kind} {name}"
        self._unhashed.append(line)
        if self.notes is not None:
            self.notes.append(line)
        if len(self._unhashed) == _FLUSH_NOTES:
            self.flush()

    def hexdigest(self) -> str:
        """The fingerprint so far, 64 hexadecimal digits."""
        self.flush()
        return sha256(self._event_digest.digest() + self._note_digest.digest()).hexdigest()

    def flush(self) -> None:
        """Take what has gathered into the fingerprint. The result does not depend on when this is called."""
        self._events += len(self.times_ns)
        self._event_digest.update(self.times_ns.tobytes())
        del self.times_ns[:]
        self._note_digest.update("".join(f"{line}\n" for line in self._unhashed).encode("utf-8", "surrogateescape"))
        self._unhashed.clear()


def first_difference(one: Trace, other: Trace) -> str | None:
    """Where two kept traces part, in one line; None if their notes are equal.

    Raises ``ValueError`` if a trace was not kept.
    """
    if one.notes is None or other.notes is None:
        raise ValueError("a trace can be compared line by line only if it was made with keep=True")
    for index in range(max(len(one.notes), len(other.notes))):
        left, right = (notes[index] if index < len(notes) else "nothing" for notes in (one.notes, other.notes))
        if left != right:
            return f"note {index}: {left!r} in one run, {right!r} in the other"
    return None
