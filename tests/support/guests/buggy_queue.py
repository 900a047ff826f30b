"""A queue over a list, and a sorted set for delays, with one bug, and its producer and worker as programs.

    buggy_queue.py push URL BUG COUNT
    buggy_queue.py work URL BUG

Bugs: lost, double, early, resurrected, early-ack, forgotten, lock, poison.
"""

import sys
import time

import sound_queue
from sound_queue import LEASE_MS, event, now_ms, stopping, until_answered

SHORT_MS = 100
POISON = "job-7"
since = {}


def push(count, bug):
    for number in range(count):
        job, delay_ms = f"job-{number}", number % 3 * 200
        event("push", job, delay_ms=delay_ms)
        until_answered("ZADD", "due", now_ms() + (0 if bug == "early" else delay_ms), job)
        event("accepted", job)
        time.sleep(0.01)
        if stopping:
            return


def promote(bug):
    """Move what is due to the list; who forgets the delay first loses the job in between."""
    for job in until_answered("ZRANGEBYSCORE", "due", "-inf", now_ms(), "LIMIT", 0, 1):
        if bug == "forgotten":
            if until_answered("ZREM", "due", job):
                until_answered("RPUSH", "waiting", job)
        else:
            move = "if redis.call('ZREM', KEYS[1], ARGV[1]) == 1 then redis.call('RPUSH', KEYS[2], ARGV[1]) end"
            until_answered("EVAL", move, 2, "due", "waiting", job)


def reclaim(bug):
    """Put back what has been active for too long; by a lock that nobody frees, or whether or not it still is active."""
    if bug == "lock" and not until_answered("SET", "reclaiming", 1, "NX"):
        return
    asked_ms = now_ms()
    for job in until_answered("LRANGE", "active", 0, -1):
        if now_ms() - since.setdefault(job, asked_ms) > LEASE_MS:
            was_there = until_answered("LREM", "active", 1, job)
            if was_there or bug == "resurrected":
                until_answered("RPUSH", "waiting", job)
    if bug == "lock":
        until_answered("DEL", "reclaiming")


def work(bug):
    while not stopping:
        promote(bug)
        take = ("LPOP", "waiting") if bug == "lost" else ("LMOVE", "waiting", "active", "LEFT", "RIGHT")
        job = until_answered(*take)
        if job is not None:
            event("begin", job)
            if bug == "early-ack":
                until_answered("LREM", "active", 1, job)
        reclaim(bug)
        if job is None:
            time.sleep(0.01)
            continue
        until_answered("INCR", "worked")  # stands for the work
        if bug == "poison" and job == POISON:
            event("failed", job)
            since.pop(job, None)
            if until_answered("LREM", "active", 1, job):
                until_answered("RPUSH", "waiting", job)
            continue
        until_answered("LREM", "active", 1, job)
        event("end", job)


role, _, bug, *count = sys.argv[1:]
if bug == "double":
    sound_queue.push(int(count[0])) if role == "push" else sound_queue.work(SHORT_MS)
else:
    push(int(count[0]), bug) if role == "push" else work(bug)
