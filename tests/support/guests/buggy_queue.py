"""A queue over a list, and a sorted set for delays, with one bug, and its producer and worker as programs.

    buggy_queue.py push URL BUG COUNT
    buggy_queue.py work URL BUG

Bugs: lost, double, early, resurrected, early-ack, forgotten, lock, poison. What is active for longest is put back when
a worker has seen it there for a second; by the bug double, for 300 ms.
"""

import sys
import time

from sound_queue import event, now_ms, push, stopping, until_answered

role, _, bug, *_ = sys.argv[1:]
PATIENCE_MS = 300 if bug == "double" else 1_000
SAID = {"lease_ms": 10_000} if bug == "double" else {}
POISON = "job-7"
seen = None, 0


def keep(job, delay_ms):
    until_answered("ZADD", "due", now_ms() + (0 if bug == "early" else delay_ms), job)


def promote():
    """Move what is due to the list; who forgets the delay first loses the job in between."""
    for job in until_answered("ZRANGEBYSCORE", "due", "-inf", now_ms(), "LIMIT", 0, 1):
        if bug == "forgotten":
            if until_answered("ZREM", "due", job):
                until_answered("RPUSH", "waiting", job)
        else:
            move = "if redis.call('ZREM', KEYS[1], ARGV[1]) == 1 then redis.call('RPUSH', KEYS[2], ARGV[1]) end"
            until_answered("EVAL", move, 2, "due", "waiting", job)


def take():
    if bug == "lost":
        return until_answered("LPOP", "waiting")
    return until_answered("LMOVE", "waiting", "active", "LEFT", "RIGHT")


def oldest():
    """Return what is active for longest, and since when this worker has seen that."""
    global seen
    job = until_answered("LINDEX", "active", 0)
    if job != seen[0]:
        seen = job, now_ms()
    return seen


def put_back(job, since_ms):
    """Let ``job`` wait again if it is late; by the bug ``resurrected`` although it is no longer active."""
    if job and now_ms() - since_ms > PATIENCE_MS and (drop(job) or bug == "resurrected"):
        until_answered("RPUSH", "waiting", job)


def reclaim():
    """Put back what is late, by the bug ``lock`` under a lock that nobody frees if its holder dies."""
    if bug == "lock" and not until_answered("SET", "reclaiming", 1, "NX"):
        return
    put_back(*oldest())
    if bug == "lock":
        until_answered("DEL", "reclaiming")


def drop(job):
    return until_answered("LREM", "active", 1, job)


def finish(job):
    until_answered("INCR", "worked")  # stands for the work
    if bug == "poison" and job == POISON:
        event("failed", job)
        if drop(job):
            until_answered("RPUSH", "waiting", job)
    else:
        drop(job)
        event("end", job)


def work():
    sys.stderr.write("ready\n")
    while not stopping:
        promote()
        job = take()
        if job is None:
            reclaim()
            time.sleep(0.01)
            continue
        event("begin", job, **SAID)
        if bug == "early-ack":
            drop(job)
        if bug == "resurrected":
            late = oldest()
            finish(job)
            put_back(*late)
        else:
            reclaim()
            finish(job)


push(keep, 2_000 if bug == "early" else 200) if role == "push" else work()
