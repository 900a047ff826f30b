"""One-way link between two zones: lag, retransmission, cuts. A message never overtakes an earlier one (TCP).

The faults live here, between the coordinators, so they need no privileges and are the same on real servers and in
simulation. A link with no lag and no fault delivers in the caller's turn and costs no timer.
"""

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from random import Random

from zonelab.cluster.links.lag import Lag
from zonelab.engine.ports import Runtime, Timer

RETRANSMIT_NS = 200_000_000
"""First retransmission time-out of a lost segment: the floor of Linux TCP (TCP_RTO_MIN); it doubles with each loss."""

RETRANSMITS_MAX = 8


class Cut(StrEnum):
    """A cut link's treatment of traffic."""

    DROP = "drop"  # the connection is reset: what is on the way is gone and sending fails at once
    HOLD = "hold"  # a black hole: nothing arrives, without any notice; what was sent arrives after mending
    FREEZE = "freeze"  # the same, but for new connections: the kernel of a process that stands still accepts them


class Link:
    """The way from ``source`` to ``target``. All settings may change while messages are on the way.

    ``clear`` is true while the link has no lag, no fault and nothing on the way: a message would arrive as it is sent.
    A caller that follows ``clear`` with ``on_clear`` may skip ``send`` for that time and deliver by itself.

    A drawn delay holds for ``coherence_ns``: messages sent within that time take equally long, as packets that share a
    queue on their way do. With 0 every message draws its own delay. Since no message may overtake another, each one
    then also waits for the slowest just before it, so a busy link is much slower than the distribution asked for.

    Example::

        link.set_lag(parse_lag("exponential:2ms"))
        link.cut(Cut.HOLD)
        link.send(lambda: print("arrived"))  # nothing happens until
        link.mend()  # and then the lag passes
    """

    def __init__(
        self, *, source: str, target: str, runtime: Runtime, lag: Lag, random: Random, coherence_ns: int = 0
    ) -> None:
        if coherence_ns < 0:
            raise ValueError(f"coherence must be at least 0 ns, got {coherence_ns}")
        self.source = source
        self.target = target
        self._runtime = runtime
        self._random = random
        self._lag = lag
        self._draw_ns = lag.sampler(random)
        self._coherence_ns = coherence_ns
        self._drawn_ns = 0
        self._redraw_ns = 0  # when the drawn delay ceases to hold
        self._loss = 0.0
        self._duplication = 0.0
        self._copy_after_ns = 0
        self._copies = 0  # that have not set out yet
        self.sent = 0
        """Messages that have set out, without those that a link with no lag and no fault passed on at once."""
        self.carried_bytes = 0
        """Bytes of requests and answers that were given to it, where those who send them count them."""
        self._cut: Cut | None = None
        self._on_break: list[Callable[[], None]] = []
        self._on_clear: list[Callable[[], None]] = []
        self._moving: deque[tuple[int, Callable[[], None]]] = deque()  # (arrival time, deliver), arrival ascending
        self._held: list[Callable[[], None]] = []
        self._timer: Timer | None = None
        self.clear = False
        self._plain = True  # nothing but lag
        self._update_clear()

    @property
    def lag(self) -> Lag:
        return self._lag

    @property
    def loss(self) -> float:
        return self._loss

    @property
    def cut_mode(self) -> Cut | None:
        return self._cut

    @property
    def in_flight(self) -> int:
        return len(self._moving) + len(self._held) + self._copies

    def on_break(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` whenever the connection over this link is reset."""
        self._on_break.append(listener)

    def on_clear(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` whenever ``clear`` has changed, before the link carries anything else."""
        self._on_clear.append(listener)

    def forget(self, *listeners: Callable[[], None]) -> None:
        """Call ``listeners`` no more."""
        for listener in listeners:
            for callbacks in (self._on_break, self._on_clear):
                if listener in callbacks:
                    callbacks.remove(listener)

    def set_lag(self, lag: Lag) -> None:
        """Messages sent from now on take delays drawn from ``lag``."""
        self._lag = lag
        self._draw_ns = lag.sampler(self._random)
        self._redraw_ns = 0
        self._update_clear()

    def set_loss(self, probability: float) -> None:
        """Each transmission is lost with ``probability``; TCP repeats it after 200 ms, 400 ms and so on."""
        if not 0 <= probability < 1:
            raise ValueError(f"loss must be at least 0 and below 1, got {probability}")
        self._loss = probability
        self._update_clear()

    def set_duplication(self, probability: float, *, after_ns: int = 0) -> None:
        """A copy of each message sets out ``after_ns`` after it with ``probability``, if the link is not cut by then.

        TCP never does this. A proxy between the zones does, if it retries requests that may have arrived.
        """
        if not 0 <= probability <= 1:
            raise ValueError(f"duplication must be 0 to 1, got {probability}")
        if after_ns < 0:
            raise ValueError(f"a copy must set out at least 0 ns later, got {after_ns}")
        self._duplication = probability
        self._copy_after_ns = after_ns
        self._update_clear()

    def cut(self, mode: Cut) -> None:
        """Cut the link; cutting it again changes the mode."""
        self._cut = mode
        self._update_clear()
        self._stop_timer()
        if mode is not Cut.DROP:
            self._held.extend(deliver for _, deliver in self._moving)
        else:
            self._held.clear()
        self._moving.clear()
        if mode is Cut.DROP:
            for listener in self._on_break:
                listener()

    def mend(self) -> None:
        """Undo ``cut``. Held messages set out now, in their order, and before anything that is sent from now on.

        Does nothing on a link that is not cut.
        """
        if self._cut is None:
            return
        self._cut = None
        held, self._held = self._held, []
        for deliver in held:
            self._depart(deliver)
        self._update_clear()

    def send(self, deliver: Callable[[], None]) -> None:
        """Call ``deliver`` when the message arrives, which may be within this call, later or never."""
        if self.clear:
            deliver()
            return
        if self._plain:
            self._depart(deliver)
            return
        self._set_out(deliver)
        if self._duplication and self._random.random() < self._duplication:
            self._copies += 1
            self._runtime.call_later(self._copy_after_ns, lambda: self._copy(deliver))

    def _set_out(self, deliver: Callable[[], None]) -> None:
        if self._cut not in (None, Cut.DROP):
            self._held.append(deliver)
        elif self._cut is None:
            self._depart(deliver)

    def _copy(self, deliver: Callable[[], None]) -> None:
        self._copies -= 1
        self._set_out(deliver)

    def _depart(self, deliver: Callable[[], None]) -> None:
        self.sent += 1
        now_ns = self._runtime.now_ns()
        if now_ns >= self._redraw_ns:
            self._drawn_ns = self._draw_ns()
            self._redraw_ns = now_ns + self._coherence_ns
        arrival_ns = now_ns + self._drawn_ns
        if self._loss:
            arrival_ns += self._retransmission_ns()
        moving = self._moving
        if moving and moving[-1][0] > arrival_ns:
            arrival_ns = moving[-1][0]
        moving.append((arrival_ns, deliver))
        if self.clear:
            self._tell_clear(clear=False)
        if self._timer is None:
            self._start_timer(now_ns)

    def _retransmission_ns(self) -> int:
        wait_ns = lost = 0
        while lost < RETRANSMITS_MAX and self._random.random() < self._loss:
            wait_ns += RETRANSMIT_NS << lost
            lost += 1
        return wait_ns

    def _start_timer(self, now_ns: int) -> None:
        wait_ns = self._moving[0][0] - now_ns
        self._timer = self._runtime.call_later(wait_ns if wait_ns > 0 else 0, self._arrive)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arrive(self) -> None:
        self._timer = None
        now_ns = self._runtime.now_ns()
        moving = self._moving
        while moving and moving[0][0] <= now_ns:
            _, deliver = moving.popleft()
            deliver()
        if moving:
            if self._timer is None:
                self._start_timer(now_ns)
        elif self._free:
            self._update_clear()

    def _update_clear(self) -> None:
        self._plain = self._cut is None and self._loss == 0 and self._duplication == 0
        self._free = self._plain and self._lag.zero
        self._tell_clear(clear=self._free and not self._moving)

    def _tell_clear(self, *, clear: bool) -> None:
        if clear != self.clear:
            self.clear = clear
            for listener in self._on_clear:
                listener()
