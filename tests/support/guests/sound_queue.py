"""A small delay queue over one sorted set, and its producer and worker as programs; with a bug if one is named.

sound_queue.py push URL COUNT [BUG]
sound_queue.py work URL [BUG]
"""

import json
import signal
import sys
import time

import redis

PUSH = (
    "if redis.call('HSETNX', KEYS[2], ARGV[1], 1) == 1 then redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) end return 1"
)
TAKE = """local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)[1]
if id then redis.call('ZADD', KEYS[1], ARGV[2], id) end return id"""
ACK = """if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('ZREM', KEYS[1], ARGV[1]) return 1 end
return 0"""
LEASE_MS = 1_000
KEYS = ("due", "jobs")


def event(op, job, **more):
    sys.stdout.write(json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}) + "\n")
    sys.stdout.flush()


def until_answered(script, *arguments):
    """Scripts may be sent again: what was done is not done twice."""
    while True:
        try:
            return client.eval(script, 2, *KEYS, *arguments)
        except redis.RedisError:
            time.sleep(0.02)


def push(count, bug):
    for number in range(count):
        job, delay_ms = f"job-{number}", number % 3 * 100
        event("push", job, delay_ms=delay_ms)
        until_answered(PUSH, job, time.time_ns() // 1_000_000 + (0 if bug == "early" else delay_ms))
        event("accepted", job)
        time.sleep(0.01)


def work(bug):
    while not stopping:
        now_ms = time.time_ns() // 1_000_000
        lease_end = str(now_ms + LEASE_MS)
        job = until_answered(TAKE, now_ms, lease_end)
        if job is None:
            time.sleep(0.01)
            continue
        event("begin", job, lease_ms=LEASE_MS)
        time.sleep(0.002)
        event("end" if until_answered(ACK, job, lease_end) else "failed", job)


stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(1))
role, url, *rest = sys.argv[1:]
client = redis.Redis.from_url(url, decode_responses=True, socket_timeout=5)
if role == "push":
    push(int(rest[0]), rest[1] if len(rest) > 1 else "")
else:
    work(rest[0] if rest else "")
