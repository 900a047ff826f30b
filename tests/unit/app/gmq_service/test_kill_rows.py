"""Goal: the proof of kills gives a lost job its row by the last command that the server executed, or fails without one.

Method: commands as MONITOR shows them, played to the proof's log; a loss that no window explains is planted.
"""

import pytest
from support.gmq_kills.kills import Found
from support.gmq_kills.log import ServerLog, words_of
from support.gmq_kills.rows import Fate, Pool, row_of
from support.gmq_kills.steps import SCRIPTS

SCRIPT = {name: text for text, name in SCRIPTS.items()}
READY = b"gmq:readyqueue:t"


def log_of(*commands):
    log = ServerLog(0)
    for by_script, *words in commands:
        log.read([word if isinstance(word, bytes) else word.encode() for word in words], by_script=by_script)
    return log


def script(name):
    return (False, "EVAL", SCRIPT[name], "1", "gmq:bucket:0")


PUSHED = (script("push"), (True, "HMSET", "gmq:jobpool:x"))
LISTED = (script("make_ready"), (True, "LPUSH", READY, "x"))
LISTS_Y = (script("make_ready"), (True, "LPUSH", READY, "y"))
SCANNED = (script("due"), (True, "ZREM", "gmq:bucket:0", "y"), (True, "ZREM", "gmq:bucket:0", "x"))
TAKEN = (*PUSHED, *LISTED, (False, "RPOP", READY))
RESERVED = (*TAKEN, script("reserve"), (True, "HSET", "gmq:jobpool:x"))
DELETED = (script("ack"), (True, "DEL", "gmq:jobpool:x"))
ALONE, GONE, WAITS = Pool(there=True, listed=False), Pool(there=False, listed=False), Pool(there=True, listed=True)
CONFIRMED = {"confirmed": True}


@pytest.mark.parametrize(
    ("commands", "fate", "pool", "row"),
    [
        (PUSHED, {}, ALONE, "push_dies_after_pool"),
        (PUSHED, CONFIRMED, ALONE, "killed_before_it_lists"),
        (PUSHED, {**CONFIRMED, "delay_s": 1}, ALONE, "killed_before_it_puts_into_a_bucket"),
        (TAKEN, CONFIRMED, ALONE, "pop_dies_after_taking"),
        (RESERVED, CONFIRMED, ALONE, "pop_dies_after_reserving"),
        (RESERVED, {**CONFIRMED, "received_now": True}, ALONE, "killed_before_it_writes_a_lease"),
        ((*PUSHED, *SCANNED), CONFIRMED, ALONE, "scan_reply_lost"),
        ((*PUSHED, *SCANNED, *LISTS_Y), CONFIRMED, ALONE, "killed_during_a_scan"),
        ((*RESERVED, *DELETED), {**CONFIRMED, "ttr_s": 0}, GONE, "pop_reply_lost_ttr_0"),
        (LISTED, CONFIRMED, WAITS, None),
        (LISTED, CONFIRMED, ALONE, ""),
        ((*PUSHED, *LISTED), CONFIRMED, GONE, ""),
    ],
)
def test_the_last_command_decides(commands, fate, pool, row):
    assert row_of("x", Fate(**{"delay_s": 0, "ttr_s": 1, **fate}), pool, log_of(*commands)) == row


def test_a_loss_without_a_row_or_of_a_hardened_job_fails_the_proof():
    assert Found("default").holds
    assert not Found("default", unexplained=["x"]).holds
    assert not Found("default", missing=["x"]).holds
    lossy = Found("hardened")
    lossy.rows["pop_reply_lost_ttr_0"] += 1
    assert lossy.holds
    lossy.rows["pop_dies_after_taking"] += 1
    assert not lossy.holds
    for mode, holds in (("default", False), ("compat", True)):
        stopped = Found(mode, "stop", hung=1)
        assert stopped.holds is holds
        stopped.hung = 0
        stopped.rows["stopped_with_a_pop_in_flight"] += 1
        assert stopped.holds is holds


def test_a_line_of_monitor_is_read_as_it_was_sent():
    line = rb'1700000000.1 [0 127.0.0.1:5] "SET" "a\"\\b\x00\n" "' + "é".encode() + b'"'
    assert words_of(line) == ([b"SET", b'a"\\b\x00\n', "é".encode()], False)
    assert words_of(b'1700000000.1 [0 lua] "DEL" "k"')[1] is True
