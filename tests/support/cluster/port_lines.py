"""Lines that clients send to a port and to a plain server, and what the server said to each, recorded.

A line is commands, each sent once the one before is answered. Recorded with the table of the server's commands by
``PYTHONPATH=tests python tests/conformance/record_replies.py``.
"""

import json
import socket
from pathlib import Path
from typing import Any

from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.replies import ReplyCutter

DEADLINE_S = 30
LINES = Path(__file__).with_suffix(".jsonl")
COMMANDS = Path(__file__).with_name("valkey_commands.jsonl")

SAME = [
    # forms of commands that wait, which neither may wait for
    b"BLMOVE nol b UP LEFT 0",
    b"BLMOVE nol b LEFT UP x",
    b"BLMOVE nol b LEFT LEFT x",
    b"BLMPOP 0 1 nol UP",
    b"BLMPOP 0 2 nol LEFT",
    b"BLMPOP 0 0 nol LEFT",
    b"BLMPOP 0.1 \xb2 k LEFT",
    b"BLMPOP 0.1 -1 k LEFT",
    b"BLMPOP 0.1 01 k LEFT",
    b"BLMPOP 0 9223372036854775807 nol LEFT",
    b"BLMPOP 0 1 nol LEFT COUNT 0",
    b"BLMPOP 0 1 nol LEFT COUNT x",
    b"BLMPOP 0 1 nol LEFT COUNT",
    b"BLMPOP 0 1 nol LEFT COUNT 1 COUNT 1",
    b"BLMPOP 0 1 nol LEFT OTHER 1",
    b"BLMPOP x 0 nol UP",
    b"BZMPOP 0 1 noz BAD",
    b"BZMPOP 0 1 noz LEFT",
    b"BZMPOP 0 1 noz MIN COUNT -1",
    b"BRPOPLPUSH nol b x",
    *(b"BLPOP nol " + text for text in (
        b"0.0_1", b"inf", b"-inf", b"infinity", b"nan", b"-1", b"-0.1", b"x", b"1e400", b"1e16", b"9e18", b"0x",
        b"1.5.1", b"0.01x", b"+-1", b"1e", b".", b"\xb2",
    )),
    *(b"BZPOPMIN noz " + text for text in (b"0.01", b"1e-3", b".01", b"+.001", b"0x0.01", b"1.e-3")),
    # the same commands in a form that is right
    b"BLMOVE nol b left Right 0.01",
    b"BRPOPLPUSH nol b 0.01",
    b"BLMPOP 0.01 2 nol nol2 left count 2",
    b"BZMPOP 0.01 2 noz noz2 min COUNT 2",
    b"RPUSH l 1 2 3; BLMPOP 0 2 nol l RIGHT COUNT 2; BLPOP nol l 0; EXISTS l",
    b"ZADD z 1 a 2 b; BZMPOP 0 1 z MAX; BZPOPMIN z 0; EXISTS z",
    b"RPUSH l 1; BLMOVE l b LEFT LEFT 0; LRANGE b 0 -1",
    b"SET s v; BLPOP s 0; BLPOP nol s 0; BLMPOP 0 1 s LEFT; BLMOVE s b LEFT LEFT 0; BZMPOP 0 1 s MIN; BZPOPMAX s 0",
    # streams
    b"XREAD COUNT 1 BLOCK",
    b"XREAD BLOCK 0.5 STREAMS s 0",
    b"XREAD BLOCK -1 STREAMS s 0",
    b"XREAD BLOCK 010 STREAMS s 0",
    b"XREAD BLOCK 9223372036854775807 STREAMS s 0",
    b"XREAD BLOCK 9223372036854775808 STREAMS s 0",
    b"XREAD OTHER BLOCK 1 STREAMS s 0",
    b"XREAD COUNT x BLOCK y STREAMS s 0",
    b"XREAD BLOCK y COUNT x STREAMS s 0",
    b"XREAD COUNT BLOCK 1 STREAMS s 0",
    b"XREAD BLOCK 0 STREAMS",
    b"XREAD BLOCK 0 STREAMS s",
    b"XREAD BLOCK 0 STREAMS s 0 1",
    b"XREAD BLOCK 0 COUNT 1",
    b"XREAD BLOCK 0 STREAMS s x",
    b"XREAD BLOCK 0 NOACK STREAMS s 0",
    b"XREAD BLOCK 0 GROUP g c STREAMS s 0",
    b"XREAD BLOCK 5 BLOCK 10 STREAMS s 0",
    b"XREAD BLOCK 5 STREAMS BLOCK 0",
    b"XADD s 1-1 f v; XREAD BLOCK 0 COUNT -1 STREAMS s 0; XREAD BLOCK 5 STREAMS s $",
    b"XREADGROUP GROUP g c BLOCK",
    b"XREADGROUP BLOCK 5 GROUP g c STREAMS s >",
    b"XREADGROUP GROUP g c BLOCK x STREAMS s >",
    b"XREADGROUP BLOCK 5 STREAMS s >",
    b"XADD s 1-1 f v; XGROUP CREATE s g 0; XREADGROUP GROUP g BLOCK BLOCK 0 NOACK STREAMS s >",
    # transactions
    b"MULTI; MULTI; SET k v; EXEC; GET k",
    b"MULTI; WATCH k; SET k v; EXEC; GET k",
    b"WATCH k; MULTI; UNWATCH; EXEC",
    b"MULTI; BLPOP nol 0; XREAD BLOCK 0 STREAMS nos $; EXEC",
    b"DISCARD; EXEC",
    # unknown commands
    b"nosuch",
    b"nosuch a b",
    b"nosuch " + b" ".join(b"a%d" % number for number in range(30)),
    b"nosuch " + b"x" * 200 + b" b",
    b"n" * 200 + b" a",
    b"CONFIG nosuch",
    # what is said about a connection
    b"ECHO hi; ECHO; ECHO a b; PING; PING hi; PING a b; SELECT 0",
    b"AUTH x; AUTH default x; AUTH other x; AUTH a b c; AUTH",
    b"CLIENT GETNAME; CLIENT SETNAME me; CLIENT GETNAME; CLIENT SETNAME \x7f; CLIENT SETNAME \x1f; CLIENT GETNAME",
    b"CLIENT SETNAME !; CLIENT GETNAME; CLIENT SETNAME ~; CLIENT GETNAME; CLIENT GETNAME x; CLIENT SETNAME",
    b"CLIENT SETNAME me; RESET; CLIENT GETNAME",
    b"CLIENT SETINFO lib-name x; CLIENT SETINFO LIB-VER 1; CLIENT SETINFO lib-name \xff; CLIENT SETINFO lib-ver",
    b"CLIENT; CLIENT NOSUCH; CLIENT ID x; CLIENT INFO x; CLIENT LIST x; CLIENT NO-EVICT; CLIENT NO-TOUCH on x",
    b"CLIENT NO-EVICT on; CLIENT NO-EVICT OFF; CLIENT NO-TOUCH ON; CLIENT CAPA redirect; CLIENT CAPA",
    b"CLIENT KILL ID 9999999; CLIENT KILL ID 0; CLIENT KILL ID -1; CLIENT KILL id 9223372036854775808",
    b"CLIENT KILL 127.0.0.1:1; CLIENT KILL nowhere",
    b"MULTI; RESET; EXEC; WATCH k; RESET; MULTI; SET k v; EXEC; GET k",
    b"UNSUBSCRIBE; PUNSUBSCRIBE; SUNSUBSCRIBE; UNSUBSCRIBE a; PUNSUBSCRIBE a*; SUNSUBSCRIBE a",
    b"SUBSCRIBE; PSUBSCRIBE; SSUBSCRIBE; RESET x; QUIT",
    # names and numbers of words
    b"set k v; GeT k; gEt; SET k; MGET; DBSIZE x; DEL; EXISTS; TYPE k x",
    b"SCRIPT; SCRIPT NOSUCH; SCRIPT EXISTS; SCRIPT LOAD; SCRIPT EXISTS x; script exists X y",
    b"EVAL return{KEYS[1],ARGV[1]} 1 k v; EVAL return 0; EVAL; EVAL return(1) x; EVALSHA x 0",
    # commands that may store
    b"RPUSH l 3 1 2; SORT l; SORT l LIMIT 0 2; SORT l STORE d; LRANGE d 0 -1; SORT l DESC store d; LRANGE d 0 -1",
    b"SADD s b a; SMEMBERS none; SMEMBERS; SMEMBERS s x; SET k v; SMEMBERS k",
    # transactions that fail
    b"MULTI x; MULTI; DISCARD x; DISCARD; EXEC x; MULTI; GET; EXEC; MULTI; SET k v; GET k; EXEC; EXEC",
    b"WATCH; WATCH k; UNWATCH x; UNWATCH; MULTI; EXEC; DISCARD",
    b"MULTI; SET k v; LPUSH k x; INCR k; EXEC; GET k",
    b"MULTI; BLPOP l 0; RPUSH l 1; BLPOP l 0; EXEC; EXISTS l",
    # keys that are there, of those that several commands wait for
    b"RPUSH b 1; BLPOP a b c 0; RPUSH c 2; RPUSH b 3; BRPOP a b c 0; BLPOP a b c 1; BLPOP a b c 0.01",
    b"ZADD y 2 m 1 n; BZPOPMAX x y 0; BZPOPMIN x y 0; BZPOPMIN x y 0.01; BZPOPMAX x y 0.01",
    b"RPUSH l 1 2 3; BRPOPLPUSH l d 0; BLMOVE l d LEFT RIGHT 0; BLMOVE l l left left 0; LRANGE d 0 -1; LRANGE l 0 -1",
    b"RPUSH l 1 2 3; BLMPOP 0 1 l left; BLMPOP 0 1 l RIGHT COUNT 5; BLMPOP 0.01 1 l LEFT",
    b"SET s v; BLPOP s l 0; RPUSH l 1; BLPOP l s 0; BRPOPLPUSH s d 0",
    # lists of clients
    b"CLIENT LIST TYPE bogus",
    b"CLIENT LIST TYPE",
    b"CLIENT LIST ID x",
    b"CLIENT LIST ID",
    b"CLIENT LIST ID 0",
    b"CLIENT LIST ID -1",
    b"CLIENT LIST OTHER",
    b"CLIENT LIST TYPE replica",
    b"CLIENT LIST type pubsub",
    b"CLIENT LIST TYPE master ID 1000000",
    # found by drawn commands, 24 November 2026
    b"XREAD BLOCK 10 STREAMS a b TIME $ 0",
    b"XREADGROUP g c BLOCK 10 STREAMS l1 0",
    b"SUBSCRIBE ch; EXEC; PING a b; COMMAND LIST; COMMAND nosuch; COMMAND",
    b"MULTI; COMMAND nosuch; EXEC",
    b"MULTI; EXEC x; SET k v; EXEC y",
    b"HELLO x; HELLO 4; HELLO 3 AUTH no default OTHER; HELLO 2 \0\xff",
    b"CLIENT NO-EVICT x; CLIENT NO-TOUCH x; CLIENT NO-TOUCH off; CLIENT CAPA x; CLIENT SETINFO Other x",
    b"CLIENT KILL ID 0; CLIENT KILL ID x",
]  # fmt: skip


TWO_CLIENTS = [
    # each command begins with the number of the client that sends it
    # a transaction that was aborted, refused or discarded ends the watch: the next one is carried out
    b"0 WATCH k; 0 MULTI; 0 NOSUCH; 0 EXEC; 1 SET k 1; 0 MULTI; 0 SET k 2; 0 EXEC; 0 GET k",
    b"0 WATCH k; 1 SET k 1; 0 MULTI; 0 SET k 2; 0 EXEC; 1 SET k 3; 0 MULTI; 0 SET k 4; 0 EXEC; 0 GET k",
    b"0 WATCH k; 0 MULTI; 0 DISCARD; 1 SET k 1; 0 MULTI; 0 SET k 2; 0 EXEC; 0 GET k",
    b"0 WATCH k; 0 UNWATCH; 1 SET k 1; 0 MULTI; 0 SET k 2; 0 EXEC; 0 GET k",
    b"0 WATCH k; 0 MULTI; 0 SET k 1; 0 EXEC; 1 SET k 2; 0 MULTI; 0 SET k 3; 0 EXEC; 0 GET k",
    b"0 WATCH k; 1 SET k 1; 0 MULTI; 0 EXEC; 0 WATCH k l; 1 SET l 1; 0 MULTI; 0 GET k; 0 EXEC",
    b"0 WATCH k; 1 WATCH k; 0 MULTI; 0 INCR k; 1 MULTI; 1 INCR k; 0 EXEC; 1 EXEC; 1 MULTI; 1 INCR k; 1 EXEC; 0 GET k",
    # what an aborted transaction had queued is gone
    b"0 MULTI; 0 SET k 1; 0 NOSUCH; 0 EXEC; 0 MULTI; 0 GET k; 0 EXEC; 0 MULTI; 0 SET k 2; 0 EXEC; 1 GET k",
    # reads alone, and reads among writes
    b"0 SET k 1; 0 MULTI; 0 GET k; 0 EXISTS k; 0 EXEC; 0 MULTI; 0 GET k; 0 SET k 2; 0 GET k; 0 EXEC; 1 GET k",
    b"0 MULTI; 0 SET k 1; 1 SET k 2; 1 GET k; 0 GET k; 0 EXEC; 1 GET k",
    b"0 WATCH k; 0 WATCH l; 1 SET k 1; 0 MULTI; 0 SET l 1; 0 EXEC; 0 EXISTS l; 0 MULTI; 0 SET l 2; 0 EXEC; 0 GET l",
    b"0 WATCH k; 1 WATCH k; 1 MULTI; 1 SET k 1; 1 EXEC; 0 MULTI; 0 SET k 2; 0 EXEC; 1 GET k",
    b"0 CLIENT SETNAME a; 1 CLIENT GETNAME; 1 CLIENT SETNAME b; 0 CLIENT GETNAME; 0 RESET; 1 CLIENT GETNAME",
    b"0 RPUSH l 1 2; 1 BLPOP l 0; 1 MULTI; 1 BLPOP l 0; 1 BLPOP l 0; 1 EXEC; 0 EXISTS l",
]


class Talk:
    """One connection, and the replies on it as bytes."""

    def __init__(self, address):
        self._socket = socket.create_connection(address, timeout=DEADLINE_S)
        self._cutter = ReplyCutter()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._socket.close()

    def ask(self, words):
        self._socket.sendall(wire.command(*words.split(b" ")))
        return self.next()

    def next(self):
        while (reply := self._cutter.next()) is None:
            data = self._socket.recv(65536)
            assert data, "closed"
            self._cutter.feed(data)
        return reply


def said(address, line):
    """The replies to the commands of ``line``."""
    with Talk(address) as one:
        return [one.ask(words) for words in line.split(b"; ")]


def said_by_two(address, line):
    """The replies to the commands of ``line``, which two clients send in turn."""
    with Talk(address) as first, Talk(address) as second:
        words = [words.split(b" ", 1) for words in line.split(b"; ")]
        return [(first, second)[int(number)].ask(command) for number, command in words]


def record(address) -> None:
    """Return the replies of the empty server at ``address`` to each line, and the table of its commands."""
    lines = []
    for ask, line in [(said, line) for line in SAME] + [(said_by_two, line) for line in TWO_CLIENTS]:
        with Talk(address) as one:
            one.ask(b"FLUSHALL")
        lines.append(json.dumps([line.decode("latin-1"), [reply.decode("latin-1") for reply in ask(address, line)]]))
    LINES.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with Talk(address) as one:
        rows = [json.dumps(entry, separators=(",", ":")) for entry in sorted(table_of(one))]
    COMMANDS.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def recorded_lines() -> dict[bytes, list[bytes]]:
    """By line, the server's replies to its commands."""
    rows = map(json.loads, LINES.read_text(encoding="utf-8").splitlines())
    return {line.encode("latin-1"): [reply.encode("latin-1") for reply in replies] for line, replies in rows}


def recorded_commands() -> list[Any]:
    """The recorded reply to COMMAND, in order of the names."""
    return list(map(json.loads, COMMANDS.read_text(encoding="utf-8").splitlines()))


def table_of(one: Talk) -> Any:
    """Return the server's reply to COMMAND, with sets in order."""
    return _ordered(_text(wire.value(one.ask(b"COMMAND"))))


def _text(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_text(one) for one in entry]
    return entry.decode() if isinstance(entry, bytes) else entry


def _ordered(table: Any) -> Any:
    """Sub-commands come in any order."""
    return [[*entry[:9], sorted(entry[9])] for entry in table]
