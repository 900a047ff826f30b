"""The fingerprint of a run: equal for equal runs, different as soon as one event differs."""

from array import array
from collections import defaultdict
from collections.abc import Iterable
from hashlib import sha256

_FLUSH_NUMBERS = 1 << 13
_NAMES_MAX = 1 << 14
"""Names that are remembered by number; then numbering begins anew, so that a long run costs no memory."""


class Trace:
    """SHA-256 over the time of every event and over the time, kind and name of every event that was noted.

    Kind and name go in as a number, and as text where the number is new: most notes repeat an earlier one at another
    time. With ``keep`` the notes stay in ``notes``, so that two runs can be compared line by line.
    """

    def __init__(self, *, keep: bool = False) -> None:
        self.notes: list[str] | None = [] if keep else None
        self.times_ns = array("q")
        """Times of the events, as integers. Emptied now and then."""
        self._events = 0
        self._numbers: dict[str, dict[str, int]] = defaultdict(dict)  # kind → name → number
        self._numbered = 0
        self._next_number = 0
        self._noted: list[int] = []  # time and number, time and number, …
        self._event_digest = sha256()
        self._note_digest = sha256()
        self._name_digest = sha256()

    @property
    def events(self) -> int:
        return self._events + len(self.times_ns)

    def note(self, time_ns: int, kind: str, name: str) -> None:
        self.note_each(time_ns, kind, (name,))

    def note_each(self, time_ns: int, kind: str, names: Iterable[str]) -> None:
        """``note`` for several of one kind at one time."""
        numbers, noted = self._numbers[kind], self._noted
        for name in names:
            number = numbers.get(name)
            if number is None:
                number = self._introduce(kind, name)
            noted += (time_ns, number)
            if self.notes is not None:
                self.notes.append(f"{time_ns} {kind} {name}")
        if len(noted) >= _FLUSH_NUMBERS:
            self.flush()

    def hexdigest(self) -> str:
        """The fingerprint so far, 64 hexadecimal digits."""
        self.flush()
        digests = (self._event_digest, self._note_digest, self._name_digest)
        return sha256(b"".join(digest.digest() for digest in digests)).hexdigest()

    def flush(self) -> None:
        """Take what has gathered into the fingerprint. The result does not depend on when this is called."""
        self._events += len(self.times_ns)
        self._event_digest.update(self.times_ns.tobytes())
        del self.times_ns[:]
        self._note_digest.update(array("q", self._noted).tobytes())
        self._noted.clear()

    def _introduce(self, kind: str, name: str) -> int:
        if self._numbered == _NAMES_MAX:
            for numbers in self._numbers.values():
                numbers.clear()
            self._numbered = 0
        number = self._numbers[kind][name] = self._next_number
        self._numbered += 1
        self._next_number += 1
        self._name_digest.update(f"{kind} {name}\n".encode("utf-8", "surrogateescape"))
        return number


def first_difference(one: Trace, other: Trace) -> str | None:
    """Return where two kept traces part, in one line; None if their notes are equal.

    Raises ``ValueError`` if a trace was not kept.
    """
    if one.notes is None or other.notes is None:
        raise ValueError("a trace can be compared line by line only if it was made with keep=True")
    for index in range(max(len(one.notes), len(other.notes))):
        left, right = (notes[index] if index < len(notes) else "nothing" for notes in (one.notes, other.notes))
        if left != right:
            return f"note {index}: {left!r} in one run, {right!r} in the other"
    return None
