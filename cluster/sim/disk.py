"""Files of a simulated server, and what a power failure takes away from them.

A write passes three places: the process, the kernel, the disk. SIGKILL takes only the first, and the server hands every
write to the kernel before it replies, so nothing that was acknowledged is lost. A power failure takes the second as
well: what was not yet flushed to the disk is gone, or a part of it is (https://valkey.io/topics/persistence/).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from zonelab.cluster.sim.redis.model import RedisModel
from zonelab.cluster.sim.redis.registry import Args
from zonelab.cluster.sim.redis.reply import LOG_UNWRITTEN, SNAPSHOT_UNWRITTEN
from zonelab.cluster.sim.redis.store import Snapshot
from zonelab.cluster.zone import Persistence
from zonelab.engine.ports import Runtime, Timer

_SECOND_NS = 1_000_000_000
_REWRITE_RECORDS = 10_000
"""An append-only file of fewer records is not rewritten."""

_SAVE_AGAIN_NS = 5 * _SECOND_NS
"""After a snapshot that could not be written the next is not tried sooner (``CONFIG_BGSAVE_RETRY_DELAY``)."""

_OVERHEAD_BYTES = 16
"""Bytes of a command in the append-only file besides its words, about; they decide where a torn tail ends."""

DEFAULT_SAVE_POINTS: tuple[tuple[int, int], ...] = ((3600, 1), (300, 100), (60, 10_000))

FLUSHED_AFTER_NS = {Persistence.AOF_EVERYSEC: _SECOND_NS, Persistence.AOF_NO: 30 * _SECOND_NS}
"""Longest time that a write stays in the kernel. Without fsync it is Linux that flushes
(``vm.dirty_expire_centisecs``).
"""

APPENDING = (Persistence.AOF_ALWAYS, Persistence.AOF_EVERYSEC, Persistence.AOF_NO)


@dataclass(frozen=True, slots=True)
class _Record:
    """The effects of one command or script, which are in the file together or not at all."""

    time_us: int
    effects: list[Args]

    @property
    def size_bytes(self) -> int:
        return sum(len(word) + _OVERHEAD_BYTES for effect in self.effects for word in effect)


class Disk:
    """The files of one server. ``running`` returns whether the server's own threads can flush now."""

    def __init__(
        self,
        *,
        persistence: Persistence,
        runtime: Runtime,
        running: Callable[[], bool],
        save_points: Sequence[tuple[int, int]] = DEFAULT_SAVE_POINTS,
    ) -> None:
        self.persistence = persistence
        self._runtime = runtime
        self._running = running
        self._save_points = save_points
        self._timer: Timer | None = None
        self._model: RedisModel | None = None
        self.full = False
        """True while nothing more can be written."""
        self.wipe()

    def wipe(self) -> None:
        """Remove the files."""
        self._base: Snapshot | None = None
        self._log: list[_Record] = []
        self._unwritten: list[_Record] = []
        self._flushed = 0
        self._rewrite_at = _REWRITE_RECORDS
        self._changes = 0
        self._saved_ns = self._runtime.now_ns()
        self._failed_ns: int | None = None
        self._stop_timer()

    def fill(self) -> None:
        """Let nothing more be written, until ``free``."""
        self.full = True

    def free(self) -> None:
        """Make room: what the server kept of its log is written now; a snapshot is when it tries again."""
        self.full = False
        if self._unwritten:
            assert self._model is not None
            self._log += self._unwritten
            self._unwritten = []
            self._model.unwritable = None
            self._start_timer()

    def notice(self) -> bool:
        """Let the server notice at the end of a turn that it could not write its log, and refuse writes from now on.

        Returns True if it ends of that: with ``AOF_ALWAYS`` it cannot keep its word.
        """
        if not self._unwritten:
            return False
        assert self._model is not None
        self._model.unwritable = LOG_UNWRITTEN
        return self.persistence is Persistence.AOF_ALWAYS

    def attach(self, model: RedisModel) -> None:
        """Load the files into ``model`` and write down from now on what changes in it."""
        if self._base is not None:
            model.store.restore(self._base)
        for record in self._log:
            model.replay(record.effects, now_us=record.time_us)
        self._model = model
        self._saved_ns = self._runtime.now_ns()
        if self._flushed < len(self._log):
            self._start_timer()

    def attach_copy(self, model: RedisModel, data: Snapshot) -> None:
        """Replace the files by ``data``, flushed, and load that."""
        self.wipe()
        if self.persistence is not Persistence.NONE:
            self._base = data
        model.store.restore(data)
        self._model = model

    def append(self, effects: list[Args], *, time_us: int) -> None:
        """The server hands the effects of a command to the kernel."""
        if self.persistence in APPENDING and self.full:
            self._unwritten.append(_Record(time_us, effects))
        elif self.persistence in APPENDING:
            self._log.append(_Record(time_us, effects))
            if self.persistence is Persistence.AOF_ALWAYS:
                self._flush()
            else:
                self._start_timer()
        elif self.persistence is Persistence.RDB:
            self._changes += 1
            self._start_timer()

    def end_process(self) -> None:
        """SIGKILL: files stay as they are, and the kernel keeps what it was given."""
        self._model = None
        self._unwritten = []
        self._failed_ns = None
        self._stop_timer()
        self._changes = 0

    def fail_power(self, *, torn: Random | None) -> None:
        """Lose what is not flushed; with ``torn`` all after a random byte of it.

        A record that is cut in the middle is dropped when the file is loaded (``aof-load-truncated yes``).
        """
        self.end_process()
        kept = self._flushed
        if torn is not None and kept < len(self._log):
            ends = list(accumulate(record.size_bytes for record in self._log[kept:]))
            cut = torn.randrange(ends[-1] + 1)
            kept += sum(end <= cut for end in ends)
        del self._log[kept:]
        self._flushed = kept

    def _start_timer(self) -> None:
        if self._timer is None:
            delay_ns = FLUSHED_AFTER_NS.get(self.persistence, _SECOND_NS)
            self._timer = self._runtime.call_later(delay_ns, self._timed)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _timed(self) -> None:
        self._timer = None
        if self.persistence is Persistence.RDB:
            self._save_if_due()
        elif self.persistence is Persistence.AOF_NO or self._running():
            self._flush()
        else:
            self._start_timer()

    def _flush(self) -> None:
        self._flushed = len(self._log)
        if self._flushed >= self._rewrite_at and self._model is not None and not self.full:
            self._base = self._model.store.snapshot()
            self._log.clear()
            self._flushed = 0
            self._rewrite_at = max(_REWRITE_RECORDS, 2 * len(self._model.store))

    def _save_if_due(self) -> None:
        """Save a snapshot when enough changed for long enough, as the server's own timer does.

        After one that fails the server refuses writes, until one has worked.
        """
        assert self._model is not None
        now_ns = self._runtime.now_ns()
        waited_s = (now_ns - self._saved_ns) / _SECOND_NS
        due = any(waited_s >= seconds and self._changes >= changes for seconds, changes in self._save_points)
        tries = due and self._running() and (self._failed_ns is None or now_ns - self._failed_ns > _SAVE_AGAIN_NS)
        if tries and self.full:
            self._failed_ns = now_ns
            self._model.unwritable = SNAPSHOT_UNWRITTEN
        elif tries:
            self._base = self._model.store.snapshot()
            self._saved_ns = now_ns
            self._changes = 0
            self._failed_ns = self._model.unwritable = None
        if self._changes:
            self._start_timer()
