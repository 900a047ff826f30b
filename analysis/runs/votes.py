"""Recorded votes: an addition to the history of a run on real servers that was made with ``--record votes``.

One row for commands that were sent together. Looks that found nothing are left out. The table is in segments, as the
history; a run without it has recorded none.
"""

import pyarrow as pa

VOTES_NAME = "votes"

_CATEGORY = pa.dictionary(pa.int32(), pa.string())

FAILED, IN_DOUBT = b"!", b"?"
"""First byte of an answer that no server gave, its text after it: not applied, and perhaps applied."""

VOTES = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),  # run time at which they were sent
        pa.field("program", _CATEGORY),  # who sent them
        pa.field("zone", _CATEGORY),  # whose coordinator
        pa.field("commands", pa.binary()),  # in RESP, long words cut; null: from here on there are gaps
        pa.field("asked", pa.list_(pa.string())),  # zones
        pa.field("answered_ns", pa.list_(pa.int64())),  # by zone; null: it never answered
        pa.field("answers", pa.list_(pa.binary())),  # by zone, the replies in RESP, or FAILED or IN_DOUBT and a text
    ]
)
