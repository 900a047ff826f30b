"""A small delay queue over one sorted set, and its producer and worker as programs; with a bug if one is named.

    sound_queue.py push URL COUNT [BUG]
    sound_queue.py work URL [BUG]

Bugs: lost, early, early-ack, double. Without one it stands the death of a server that keeps its data, of any zone but
its own, and of its workers: what it does may be done again, a lease ends at a time that all know, and only its holder
takes a job out.
"""

import json
import signal
import sys
import time

import redis

LEASE_MS = 1_000
PUSH = """if redis.call('HSETNX', KEYS[2], ARGV[1], 'new') == 1 then redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) end
return 1"""
TAKE = """local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)[1]
if id then redis.call('ZADD', KEYS[1], ARGV[2], id) end return id"""
ACK = """if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then
redis.call('ZREM', KEYS[1], ARGV[1]) redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end
return redis.call('HGET', KEYS[2], ARGV[1]) == ARGV[2] and 1 or 0"""
TAKE_OUT = """local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)[1]
if id then redis.call('ZREM', KEYS[1], id) end return id"""
SHORT_MS = 100


def now_ms():
    return time.time_ns() // 1_000_000


def event(op, job, **more):
    sys.stdout.write(json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}) + "\n")
    sys.stdout.flush()


def until_answered(script, *arguments):
    while True:
        try:
            return client.eval(script, 2, "due", "jobs", *arguments)
        except redis.RedisError:
            time.sleep(0.02)


def push(count, bug):
    for number in range(count):
        job, delay_ms = f"job-{number}", number % 3 * 200
        event("push", job, delay_ms=delay_ms)
        until_answered(PUSH, job, now_ms() + (0 if bug == "early" else delay_ms))
        event("accepted", job)
        time.sleep(0.01)


def work(bug):
    while not stopping:
        lease_end = now_ms() + LEASE_MS
        in_truth = now_ms() + SHORT_MS if bug == "double" else lease_end
        job = until_answered(TAKE_OUT if bug == "lost" else TAKE, now_ms(), in_truth)
        left_ms = lease_end - now_ms()
        if job is None or left_ms <= 0:
            time.sleep(0.01)
            continue
        event("begin", job, lease_ms=left_ms)
        if bug == "early-ack":
            until_answered(ACK, job, lease_end)
        until_answered("return redis.call('HINCRBY', KEYS[2], 'worked', 1)")  # stands for the work
        acked = bug in ("lost", "early-ack") or until_answered(ACK, job, in_truth)
        event("end" if acked else "failed", job)


stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(1))
role, url, *rest = sys.argv[1:]
client = redis.Redis.from_url(url, decode_responses=True)
if role == "push":
    push(int(rest[0]), *rest[1:] or [""])
else:
    work(*rest or [""])
