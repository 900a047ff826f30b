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


def active():
    """Return what is being worked on, and begin to count how long each has been."""
    asked_ms = now_ms()
    return {job: since.setdefault(job, asked_ms) for job in until_answered("LRANGE", "active", 0, -1)}


def overdue(seen):
    return [job for job, first_ms in seen.items() if now_ms() - first_ms > LEASE_MS]


def reclaim(bug):
    """Put back what has been active for too long, under a lock; by the bug of that name nobody frees a dead one's."""
    if bug == "lock" and not until_answered("SET", "reclaiming", 1, "NX"):
        return
    for job in overdue(active()):
        if until_answered("LREM", "active", 1, job):
            until_answered("RPUSH", "waiting", job)
    if bug == "lock":
        until_answered("DEL", "reclaiming")


def finish(job, bug):
    until_answered("INCR", "worked")  # stands for the work
    since.pop(job, None)
    if bug == "poison" and job == POISON:
        event("failed", job)
        if until_answered("LREM", "active", 1, job):
            until_answered("RPUSH", "waiting", job)
    else:
        until_answered("LREM", "active", 1, job)
        event("end", job)


def work(bug):
    while not stopping:
        promote(bug)
        take = ("LPOP", "waiting") if bug == "lost" else ("LMOVE", "waiting", "active", "LEFT", "RIGHT")
        job = until_answered(*take)
        if job is None:
            reclaim(bug)
            time.sleep(0.01)
            continue
        event("begin", job)
        if bug == "early-ack":
            until_answered("LREM", "active", 1, job)
        if bug == "resurrected":  # who puts back by a list that was read before the work
            seen = active()
            finish(job, bug)
            for late in overdue(seen):
                until_answered("RPUSH", "waiting", late)
        else:
            reclaim(bug)
            finish(job, bug)


role, _, bug, *count = sys.argv[1:]
if bug == "double":
    sound_queue.push(int(count[0])) if role == "push" else sound_queue.work(SHORT_MS)
else:
    push(int(count[0]), bug) if role == "push" else work(bug)
