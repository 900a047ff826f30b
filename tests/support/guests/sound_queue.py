"""A small delay queue over one sorted set, and its producer and worker as programs.

    sound_queue.py push URL COUNT
    sound_queue.py work URL

It stands the death of a server that keeps its data, of any zone but its own, and of its workers: what it does may be
done again, a lease ends at a time that all know, and only its holder takes a job out.
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
WORK = "return redis.call('HINCRBY', KEYS[2], 'worked', 1)"  # stands for the work


def now_ms():
    return time.time_ns() // 1_000_000


def event(op, job, **more):
    sys.stdout.write(json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}) + "\n")
    sys.stdout.flush()


def until_answered(*words):
    while True:
        try:
            return client.execute_command(*words)
        except redis.RedisError:
            time.sleep(0.02)


def script(text, *arguments):
    return until_answered("EVAL", text, 2, "due", "jobs", *arguments)


def push(store, step_ms=200):
    for number in range(int(sys.argv[-1])):
        job, delay_ms = f"job-{number}", number % 3 * step_ms
        event("push", job, delay_ms=delay_ms)
        store(job, delay_ms)
        event("accepted", job)
        time.sleep(0.01)
        if stopping:
            return


def keep(job, delay_ms):
    script(PUSH, job, now_ms() + delay_ms)


def work():
    sys.stderr.write("ready\n")
    while not stopping:
        lease_end = now_ms() + LEASE_MS
        job = script(TAKE, now_ms(), lease_end)
        begun_ns = time.time_ns()
        left_ms = lease_end - begun_ns // 1_000_000
        if job is None or left_ms <= 0:
            time.sleep(0.01)
            continue
        event("begin", job, lease_ms=left_ms, t_ns=begun_ns)
        script(WORK)
        event("end" if script(ACK, job, lease_end) else "failed", job)


stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(1))
client = redis.Redis.from_url(sys.argv[2], decode_responses=True)
if __name__ == "__main__":
    push(keep) if sys.argv[1] == "push" else work()
