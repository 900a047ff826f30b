"""Goal: a channel with hints keeps what it should, in order and within bounds, and tells callers what became of it.

Method: a channel below it whose answers the test gives, at once or when it says so.
"""

from collections import Counter

import pytest

from zonelab.cluster.commands.routes import CommandRoute
from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.failures import STORAGE_REFUSED, ZoneFailure
from zonelab.cluster.options.hinted_handoff import HandoffSettings, HintedChannel
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.cluster.resp.protocol.wire_codec import WireCodec
from zonelab.cluster.sim.runtime import SimRuntime

MS, S = 1_000_000, 1_000_000_000
ON = HandoffSettings()


class Slow:
    """A channel that answers ``at_once`` or when the test says so; more than ``most_bytes`` under way break it."""

    def __init__(self, most_bytes=4 * 1024 * 1024):
        self.connected = self.at_once = False
        self.waiting = []
        self.most_bytes = most_bytes
        self.most = 0
        self.server = []

    def submit(self, batch, done):
        if not self.connected:
            done(ZoneFailure(STORAGE_REFUSED, maybe_applied=False))
            return
        self.waiting.append((batch, done))
        self.most = max(self.most, len(self.waiting))
        if sum(len(argument) for batch, _ in self.waiting for argument in batch.commands[0]) > self.most_bytes:
            self.fail(maybe_applied=True)
        elif self.at_once:
            self.serve()

    def reset(self):
        pass

    def fail(self, *, maybe_applied):
        waiting, self.waiting, self.connected = self.waiting, [], False
        for _, done in waiting:
            done(ZoneFailure(STORAGE_REFUSED, maybe_applied=maybe_applied))

    def serve(self, count=1):
        for _ in range(count):
            batch, done = self.waiting.pop(0)
            self.server += batch.commands
            done([b"OK"] * len(batch.commands))

    def serve_all(self):
        while self.waiting:
            self.serve()


def hinted(settings=ON, *, hints=0, **options):
    """A channel with hints for numbered writes of ``k``, what is below it, what it counts, and the time."""
    counts, far, runtime = Counter(), Slow(), SimRuntime(seed=1)

    def count(what, number):
        counts[what] += number

    channel = HintedChannel(far, runtime=runtime, settings=settings, count=count, **options)
    for number in range(hints):
        send(channel, ("SET", "k", str(number)))
    return channel, far, counts, runtime


def send(channel, *commands, writes=True):
    answers = []
    channel.submit(Batch(commands, writes=writes), answers.append)
    return answers


def numbered(*numbers):
    return [("SET", "k", str(number)) for number in range(*numbers)]


def test_what_may_have_been_applied_is_not_kept_because_it_could_be_applied_twice():
    channel, far, counts, _ = hinted()
    far.connected = True
    answers = send(channel, ("INCR", "n"))
    far.fail(maybe_applied=True)
    assert [(str(answer), answer.maybe_applied) for answer in answers] == [(STORAGE_REFUSED, True)]
    assert (channel.hints, counts) == (0, {})


def test_who_asked_for_a_write_that_is_kept_is_told_that_it_may_be_applied():
    channel, _, _, _ = hinted(HandoffSettings(queue=1))
    told = [send(channel, command)[0] for command in numbered(2)]
    assert [(str(answer), answer.maybe_applied) for answer in told] == [
        (STORAGE_REFUSED, True),
        (STORAGE_REFUSED, False),
    ]


def test_reads_are_not_kept():
    channel, _, _, _ = hinted()
    send(channel, ("GET", "k"), writes=False)
    send(channel, ("GET", "k"), ("SET", "k", 1))
    assert channel.hints == 1


def test_a_hint_that_cannot_be_sent_stays_and_a_coordinator_that_ends_takes_its_hints_with_it():
    channel, far, counts, runtime = hinted(hints=1)
    runtime.run(for_ns=S)
    assert channel.hints == 1
    channel.reset()
    far.connected = far.at_once = True
    send(channel, ("SET", "k", "2"))
    assert far.server == [("SET", "k", "2")]
    assert counts == {"hints stored": 1, "hints dropped": 1}


def test_hints_go_out_in_windows_so_that_a_backlog_that_all_of_them_exceed_is_never_reached():
    channel, far, counts, _ = hinted()
    for number in range(5_000):
        send(channel, ("SET", f"k{number}", "x" * 4096))
    far.connected = True
    newer = send(channel, ("SET", "k0", "newer"))
    far.serve_all()
    assert [command[1] for command in far.server] == [f"k{number}" for number in range(5_000)] + ["k0"]
    assert (far.server[-1], newer) == (("SET", "k0", "newer"), [[b"OK"]])
    assert counts == {"hints stored": 5_000, "hints replayed": 5_000}
    assert far.most == 254  # 253 hints are 1 MiB, and the last write is small
    assert (channel.at_rest, channel.hints) == (True, 0)


def test_small_hints_go_out_256_at_a_time_and_what_is_newer_waits_behind_them_reads_too():
    channel, far, _, _ = hinted(hints=300)
    far.connected = True
    read, write = send(channel, ("GET", "k"), writes=False), send(channel, ("SET", "k", "newer"))
    assert len(far.waiting) == 256
    far.serve(255)
    assert (read, write) == ([], [])
    far.serve_all()
    assert far.server[-3:] == [("SET", "k", "299"), ("GET", "k"), ("SET", "k", "newer")]
    assert (read, write) == ([[b"OK"]], [[b"OK"]])


def test_hints_that_are_refused_again_go_first_in_their_order_and_what_waited_behind_becomes_hints():
    channel, far, counts, runtime = hinted(hints=300)
    far.connected = True
    write, read = send(channel, ("SET", "k", "300")), send(channel, ("GET", "k"), writes=False)
    far.serve(10)
    far.fail(maybe_applied=False)
    runtime.run(for_ns=S)
    assert [answer.maybe_applied for answer in (*write, *read)] == [True, False]
    send(channel, ("SET", "k", "301"))
    far.connected = True
    runtime.run(for_ns=S)
    far.serve_all()
    assert far.server == numbered(302)
    assert counts == {"hints stored": 302, "hints replayed": 302}


def test_what_may_have_been_applied_of_a_window_is_not_sent_again_but_the_rest_is():
    _, far, counts, runtime = hinted(hints=300)
    far.connected = True
    runtime.run(for_ns=S)
    far.fail(maybe_applied=True)
    far.connected = True
    runtime.run(for_ns=S)
    far.serve_all()
    assert far.server == numbered(256, 300)
    assert counts == {"hints stored": 300, "hints in doubt": 256, "hints replayed": 44}


def test_what_is_newer_waits_only_so_long_and_is_a_hint_then():
    channel, far, counts, runtime = hinted(HandoffSettings(wait_ms=1_000), hints=300)
    far.connected = True
    runtime.run(for_ns=S)
    write, read = send(channel, ("SET", "k", "300")), send(channel, ("GET", "k"), writes=False)
    runtime.run(for_ns=S - 100 * MS)
    assert (write, read) == ([], [])
    runtime.run(for_ns=200 * MS)
    assert [answer.maybe_applied for answer in (*write, *read)] == [True, False]
    far.serve_all()
    assert far.server == numbered(301)
    assert counts["hints replayed"] == 301


def test_a_coordinator_that_ends_keeps_nothing_of_what_is_under_way_either():
    channel, far, counts, runtime = hinted(hints=300)
    far.connected = True
    write = send(channel, ("SET", "k", "newer"))
    far.reset = lambda: far.fail(maybe_applied=False)
    channel.reset()
    assert [answer.maybe_applied for answer in write] == [False]
    assert (channel.at_rest, channel.hints) == (True, 0)
    far.connected = True
    direct = send(channel, ("SET", "k", "again"))
    channel.reset()
    far.connected = True
    runtime.run(for_ns=S)
    assert (direct[0].maybe_applied, far.waiting) == (False, [])
    assert counts == {"hints stored": 300, "hints dropped": 300}


def test_hints_are_bounded_in_bytes_of_their_wire_form_too():
    one = len(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n\xc3\xa4\xc3\xa4\r\n")
    channel, _, counts, _ = hinted(HandoffSettings(queue_bytes=3 * one + 1))
    kept = [send(channel, ("SET", "k", "ää"))[0].maybe_applied for _ in range(4)]
    assert (kept, channel.hints) == ([True, True, True, False], 3)
    assert counts == {"hints stored": 3, "hints dropped": 1}


def test_a_write_that_has_no_room_behind_the_hints_is_refused_as_it_must_not_overtake_them_and_a_read_goes_past():
    channel, far, counts, _ = hinted(HandoffSettings(queue=300), hints=300)
    far.connected = True
    write, read = send(channel, ("SET", "k", "300")), send(channel, ("GET", "k"), writes=False)
    assert [answer.maybe_applied for answer in write] == [False]
    far.serve_all()
    assert (read, far.server[256]) == ([[b"OK"]], ("GET", "k"))
    assert send(channel, ("SET", "k", "301")) == []
    far.serve_all()
    assert far.server[-1] == ("SET", "k", "301")
    assert counts == {"hints stored": 300, "hints dropped": 1, "hints replayed": 300}


def test_hints_that_are_answered_at_once_go_out_in_order_before_what_is_newer():
    channel, far, _, _ = hinted(hints=3)
    far.connected = far.at_once = True
    assert send(channel, ("SET", "k", "3")) == [[b"OK"]]
    assert (far.server, channel.at_rest) == (numbered(4), True)


def test_what_is_packed_counts_by_all_its_bytes_even_if_it_is_one_command():
    channel, _, counts, _ = hinted(HandoffSettings(queue_bytes=100))
    channel.submit(Batch([("SET", "k")], writes=True, packed=b"x" * 101), lambda answer: None)
    assert (channel.hints, counts) == (0, {"hints dropped": 1})


def test_hints_of_which_only_the_wire_form_says_all_keep_it():
    channel, far, _, _ = hinted(codec=WireCodec())
    packed = wire.command(b"SET", b"k", b"v")
    channel.submit(Batch(KINDS[CommandRoute.WRITE].run(1, 2), writes=True, packed=packed), lambda answer: None)
    send(channel, ("GET", "k"), ("SET", "k", "1"))
    assert not channel.at_rest
    far.connected = True
    send(channel, ("SET", "later", "1"))
    sent = [(list(batch.commands), batch.packed, batch.writes) for batch, _ in far.waiting]
    assert sent == [
        ([("SET",)], packed, True),
        ([("SET", "k", "1")], None, True),
        ([("SET", "later", "1")], None, True),
    ]
    far.serve_all()
    assert channel.at_rest


@pytest.mark.parametrize(
    "command",
    [("PUBLISH", "channel", "m"), ("FLUSHALL",), ("SCRIPT", "LOAD", "return 1"), ("EVAL", "return 1", 0)],
    ids=lambda command: command[0],
)
def test_what_has_no_key_is_for_now_and_not_kept(command):
    channel, _, counts, _ = hinted()
    assert [answer.maybe_applied for answer in send(channel, command)] == [False]
    send(channel, ("SET", "k", 1), command)
    assert (channel.hints, counts) == (1, {"hints stored": 1})


def packed_hints(kind, *commands, **marks):
    """What is kept of commands of a client of a gateway, as bytes."""
    channel, far, _, runtime = hinted(codec=WireCodec())
    packed = b"".join(wire.command(*command.encode().split()) for command in commands)
    run = WireCommands([KINDS[kind].example], **marks) if marks else KINDS[kind].run(len(commands), 3)
    channel.submit(Batch(run, writes=True, packed=packed), lambda answer: None)
    far.connected = True
    runtime.run(for_ns=S)
    kept = [batch for batch, _ in far.waiting]
    assert all(batch.commands.protocol == 3 and batch.packed in (packed, None) for batch in kept)
    return [packed if batch.packed else list(batch.commands) for batch in kept], packed


def test_of_a_clients_bytes_only_writes_with_keys_are_kept_in_its_protocol():
    assert packed_hints(CommandRoute.BROADCAST, "PUBLISH k m")[0] == []
    assert packed_hints(CommandRoute.BROADCAST, "SCRIPT LOAD x")[0] == []
    assert packed_hints(CommandRoute.WRITE, "flushall")[0] == []
    assert packed_hints(CommandRoute.WRITE, "SET k v", "FLUSHALL", "INCR n")[0] == [
        [(b"SET", b"k", b"v"), (b"INCR", b"n")]
    ]
    kept, packed = packed_hints(CommandRoute.WRITE, "SET k v", "INCR n")
    assert kept == [packed]


def test_a_transaction_is_kept_whole_or_not_at_all():
    kept, packed = packed_hints(CommandRoute.WRITE, "MULTI", "SET k v", "GET n", "EXEC", replies=4, protocol=3)
    assert kept == [packed]
    assert packed_hints(CommandRoute.WRITE, "MULTI", "SET k v", "PUBLISH c m", "EXEC", replies=4, protocol=3)[0] == []
    assert packed_hints(CommandRoute.READ, "MULTI", "GET k", "EXEC", replies=3, protocol=3)[0] == []
