"""Goal: streams as the server has them, and what no recorded reply shows: the clock, blocks, restarts.

Method: the model with no server. Replies are those of Valkey 9.1.2 (28 November 2026), unless the clock decides them.
"""

from random import Random

import pytest

from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.sim.redis.listpack import integer_bytes, word_bytes
from zonelab.cluster.sim.redis.resp import encode, typed
from zonelab.engine.ports import ServerError

NOW_MS = 1_700_000_000_123


class Server:
    """A model whose clock a test sets, and what it writes down."""

    def __init__(self):
        self.now_ms = NOW_MS
        self.written = []
        self.model = RedisModel(
            clock_us=lambda: self.now_ms * 1000,
            random=Random(1),
            on_write=lambda effects: self.written.append((self.now_ms, effects)),
        )

    def __call__(self, *command):
        return self.model.execute(command)

    def full(self, key="s"):
        return self("XINFO", "STREAM", key, "FULL", "COUNT", 0)

    def about(self, name, key="s"):
        reply = self("XINFO", "STREAM", key)
        return reply[reply.index(name) + 1]


@pytest.fixture
def server():
    return Server()


def add(server, *ids):
    for entry in ids:
        server("XADD", "s", entry, "f", "v")


def ids(entries):
    return [entry for entry, _ in entries]


def test_replies_have_the_types_that_the_server_gives_them(server):
    """Measured in both protocols on Valkey 9.1.2, 28 November 2026."""

    def wire(*command, protocol):
        words = [str(word).encode() for word in command]
        return encode(typed(words, server(*command)), protocol=protocol)

    add(server, "1-1")
    server("XGROUP", "CREATE", "s", "g", 0)
    entries = b"$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
    assert wire("XREAD", "STREAMS", "s", 0, protocol=2) == b"*1\r\n*2\r\n" + entries
    assert wire("XREAD", "STREAMS", "s", 0, protocol=3) == b"%1\r\n" + entries
    assert wire("XREAD", "STREAMS", "s", "$", protocol=2) == b"*-1\r\n"
    assert wire("XPENDING", "s", "g", protocol=2) == b"*4\r\n:0\r\n$-1\r\n$-1\r\n*-1\r\n"
    assert wire("XRANGE", "s", "-", "+", "COUNT", 0, protocol=3) == b"_\r\n"
    server("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    server("XDEL", "s", "1-1")
    deleted = b"*2\r\n$3\r\n1-1\r\n*-1\r\n"
    read = "XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", 0
    assert wire(*read, protocol=2) == b"*1\r\n*2\r\n$1\r\ns\r\n*1\r\n" + deleted
    group = b"$4\r\nname\r\n$1\r\ng\r\n"
    assert wire("XINFO", "GROUPS", "s", protocol=3).startswith(b"*1\r\n%6\r\n" + group)
    assert b"groups\r\n*1\r\n%7\r\n" + group in wire("XINFO", "STREAM", "s", "FULL", protocol=3)
    assert wire("XINFO", "HELP", protocol=3).startswith(b"*9\r\n+XINFO <subcommand>")


def test_ids_are_by_the_clock_and_never_go_back(server):
    assert server("XADD", "s", "*", "f", "v") == b"1700000000123-0"
    assert server("XADD", "s", "*", "f", "v") == b"1700000000123-1"
    server.now_ms -= 5_000
    assert server("XADD", "s", "*", "f", "v") == b"1700000000123-2"
    assert server("XADD", "s", f"{NOW_MS}-*", "f", "v") == b"1700000000123-3"
    server.now_ms += 5_001
    assert server("XADD", "s", "*", "f", "v") == b"1700000000124-0"


def test_a_delivery_is_pending_until_it_is_acknowledged_and_changes_hands_by_a_claim(server):
    add(server, "1-1", "1-2", "2-0")
    server("XGROUP", "CREATE", "s", "g", 0)
    first, second = server("XREADGROUP", "GROUP", "g", "c", "COUNT", 2, "STREAMS", "s", ">")[0][1]
    assert (first, second[0]) == ([b"1-1", [b"f", b"v"]], b"1-2")
    assert server("XACK", "s", "g", "1-1", "1-1", "7-7") == 1
    server.now_ms += 1_000
    assert server("XPENDING", "s", "g", "-", "+", 9) == [[b"1-2", b"c", 1_000, 1]]
    assert server("XPENDING", "s", "g", "IDLE", 1_001, "-", "+", 9) == []
    assert server("XAUTOCLAIM", "s", "g", "d", 1_001, 0) == [b"0-0", [], []]
    assert server("XAUTOCLAIM", "s", "g", "d", 1_000, 0) == [b"0-0", [[b"1-2", [b"f", b"v"]]], []]
    assert server("XPENDING", "s", "g") == [1, b"1-2", b"1-2", [[b"d", b"1"]]]
    assert server("XREADGROUP", "GROUP", "g", "d", "STREAMS", "s", 0) == [[b"s", [[b"1-2", [b"f", b"v"]]]]]
    assert server("XPENDING", "s", "g", "-", "+", 9) == [[b"1-2", b"d", 0, 3]]
    server("XDEL", "s", "1-2")
    assert server("XREADGROUP", "GROUP", "g", "d", "STREAMS", "s", 0) == [[b"s", [[b"1-2", None]]]]
    assert server("XAUTOCLAIM", "s", "g", "c", 0, 0) == [b"0-0", [], [b"1-2"]]


def test_a_read_that_would_wait_returns_nothing(server):
    add(server, "1-1")
    server("XGROUP", "CREATE", "s", "g", "$")
    assert server("XREAD", "BLOCK", 0, "STREAMS", "s", "$") is None
    assert server("XREADGROUP", "GROUP", "g", "c", "BLOCK", 5, "STREAMS", "s", ">") is None
    far = 2**63 - 1 - NOW_MS
    assert server("XREAD", "BLOCK", far, "STREAMS", "s", "$") is None
    assert server("XREAD", "BLOCK", far + 1, "STREAMS", "s", "$") == ServerError("ERR timeout is out of range")


def test_a_consumer_is_seen_when_it_asks_and_active_when_it_gets_something(server):
    server("XGROUP", "CREATE", "s", "g", 0, "MKSTREAM")
    server("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    server.now_ms += 10
    named = [b"name", b"c", b"pending", 0]
    assert server("XINFO", "CONSUMERS", "s", "g") == [[*named, b"idle", 10, b"inactive", -1]]
    add(server, "1-1")
    server("XREADGROUP", "GROUP", "g", "c", "NOACK", "STREAMS", "s", ">")
    server.now_ms += 5
    server("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    assert server("XINFO", "CONSUMERS", "s", "g") == [[*named, b"idle", 0, b"inactive", -1]]


def test_an_approximate_trim_removes_whole_blocks_of_a_hundred_entries(server):
    add(server, *(f"1-{number}" for number in range(1, 251)))
    assert server("XTRIM", "s", "MAXLEN", "~", 151) == 0
    assert server("XTRIM", "s", "MAXLEN", "~", 150) == 100
    server("XDEL", "s", "1-101", "1-102")
    assert server("XTRIM", "s", "MINID", "~", "1-200") == 0
    assert server("XTRIM", "s", "MINID", "~", "1-201", "LIMIT", 97) == 0
    assert server("XTRIM", "s", "MINID", "~", "1-201") == 98
    assert server("XTRIM", "s", "MAXLEN", 3) == 47
    assert ids(server("XRANGE", "s", "-", "+")) == [b"1-248", b"1-249", b"1-250"]


def test_a_block_is_full_at_4096_bytes_too(server):
    """Measured: entries of these words begin a block each time that the tree of the server has one more key."""
    blocks = []
    for number in range(1, 13):
        server("XADD", "s", f"1-{number}", "field", "x" * 1_000)
        blocks.append(server.about(b"radix-tree-keys"))
    assert blocks == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]


@pytest.mark.parametrize(
    ("word", "size"),
    [
        *[
            (b"", 2),
            (b"x" * 63, 65),
            (b"x" * 64, 67),
            (b"x" * 200, 204),
            (b"x" * 5_000, 5_007),
            (b"12", 2),
            (b"012", 5),
        ],
        *[(b"-1", 3), (b"4096", 4), (b"-32769", 5), (b"8388608", 6), (b"9223372036854775807", 10), (b"1" * 20, 22)],
    ],
)
def test_sizes_of_words(word, size):
    assert word_bytes(word) == size
    assert size > 10 or not word.lstrip(b"-").isdigit() or word != b"%d" % int(word) or integer_bytes(int(word)) == size


def test_a_group_knows_how_far_behind_it_is_until_an_entry_ahead_of_it_is_deleted(server):
    add(server, "1-1", "1-2", "1-3", "1-4")
    server("XGROUP", "CREATE", "s", "g", 0)
    assert server("XINFO", "GROUPS", "s")[0][-4:] == [b"entries-read", None, b"lag", 4]
    server("XREADGROUP", "GROUP", "g", "c", "COUNT", 1, "STREAMS", "s", ">")
    assert server("XINFO", "GROUPS", "s")[0][-4:] == [b"entries-read", 1, b"lag", 3]
    server("XDEL", "s", "1-3")
    assert server("XINFO", "GROUPS", "s")[0][-4:] == [b"entries-read", 1, b"lag", None]
    server("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    assert server("XINFO", "GROUPS", "s")[0][-4:] == [b"entries-read", 4, b"lag", 0]


def a_day_of(server, random):
    """Write to streams as queues do, at times that differ."""
    server("XGROUP", "CREATE", "s", "g", 0, "MKSTREAM")
    for _ in range(400):
        server.now_ms += random.randrange(3)
        consumer = random.choice(["c", "d", "e"])
        held = [entry for entry, *_ in server("XPENDING", "s", "g", "-", "+", 1_000)] or [b"1-1"]
        one = random.choice(held)
        server(
            *random.choice(
                [
                    ("XADD", "s", "*", "f", "v"),
                    ("XADD", "s", "MAXLEN", "~", 100, "*", "f", "v"),
                    ("EVAL", "return redis.call('XADD', 's', '*', 'f', 'v')", 0),
                    ("XREADGROUP", "GROUP", "g", consumer, "COUNT", 3, "STREAMS", "s", ">"),
                    ("XREADGROUP", "GROUP", "g", consumer, "COUNT", 3, "STREAMS", "s", "0"),
                    ("XACK", "s", "g", one),
                    ("XDEL", "s", one),
                    ("XCLAIM", "s", "g", consumer, 0, one, "IDLE", 50, "RETRYCOUNT", 7),
                    ("XCLAIM", "s", "g", consumer, 0, one, "LASTID", f"{server.now_ms}-0"),
                    ("XAUTOCLAIM", "s", "g", consumer, 20, "-", "COUNT", 2),
                    ("XGROUP", "DELCONSUMER", "s", "g", consumer),
                ]
            )
        )


def test_a_restart_from_the_log_and_a_copy_give_the_same_stream():
    for seed in range(20):
        server, restarted, copy = Server(), Server(), Server()
        a_day_of(server, Random(seed))
        for now_ms, effects in server.written:
            restarted.model.replay(effects, now_us=now_ms * 1000)
        snapshot = server.model.store.snapshot()
        copy.model.store.restore(snapshot)
        assert server.full() == restarted.full() == copy.full()
        assert server("RESTORE", "dumped", 0, server("DUMP", "s")) == b"OK"
        assert server("COPY", "s", "copied") == 1
        assert server.full("dumped") == server.full("copied") == server.full()
        copy("XADD", "s", "*", "f", "v")
        copy("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
        assert server.full() == restarted.full()
        assert server.full() != copy.full()


def test_an_id_of_the_clock_is_written_as_it_was_given(server):
    """Commands that a script keeps out of the file do not move the ids of those that are in it."""
    add_one = "redis.call('XADD', 's', 'MAXLEN', '~', 9, '*', 'f', 'v') "
    server("EVAL", f"redis.set_repl(redis.REPL_NONE) {add_one} redis.set_repl(redis.REPL_ALL) {add_one}", 0)
    ((_, ((*_, key, _, _, _, entry, _, _),)),) = server.written
    assert (key, entry) == (b"s", b"1700000000123-1")


def test_a_stream_without_entries_still_exists(server):
    add(server, "1-1")
    server("XDEL", "s", "1-1")
    assert server("TYPE", "s") == b"stream"
    assert (server("EXISTS", "s"), server("XLEN", "s")) == (1, 0)
    assert server("SCAN", 0, "TYPE", "stream") == [b"0", [b"s"]]
    assert server("XADD", "s", "1-1", "f", "v") == ServerError(
        "ERR The ID specified in XADD is equal or smaller than the target stream top item"
    )


def test_a_script_without_the_right_to_write_may_look_only(server):
    add(server, "1-1")

    def look(*command):
        return server("EVAL", "#!lua flags=no-writes\nreturn redis.call(unpack(ARGV))", 0, *command)

    assert look("XRANGE", "s", "-", "+") == [[b"1-1", [b"f", b"v"]]]
    assert look("XINFO", "GROUPS", "s") == []
    assert isinstance(look("XGROUP", "HELP"), list)
    refused = "ERR Write commands are not allowed from read-only scripts. script: on @user_script:2."
    for command in ("XGROUP", "CREATE", "s", "g", 0), ("XADD", "s", "*", "f", "v"), ("XACK", "s", "g", "1-1"):
        assert look(*command) == ServerError(refused)
    assert look("XGROUP") == ServerError(
        "ERR Wrong number of args calling command from script script: on @user_script:2."
    )
    assert look("XGROUP", "x") == ServerError("ERR unknown subcommand 'x'. Try XGROUP HELP. script: on @user_script:2.")


def test_a_server_whose_memory_is_full_takes_no_entries_and_no_groups_but_acknowledgements(server):
    add(server, "1-1")
    server("XGROUP", "CREATE", "s", "g", 0)
    server.model.full = True
    full = ServerError("OOM command not allowed when used memory > 'maxmemory'.")
    assert server("XADD", "s", "*", "f", "v") == full
    assert server("XGROUP", "CREATE", "s", "h", 0) == full
    assert server("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">") == [[b"s", [[b"1-1", [b"f", b"v"]]]]]
    assert server("XACK", "s", "g", "1-1") == 1
    assert server("XGROUP", "DESTROY", "s", "g") == 1
