"""A program that pushes, works on and finishes three jobs by itself, so that its run is valid, but for one bad habit.

misbehaving.py HABIT EVENTS_FILE
"""

import json
import os
import signal
import subprocess
import sys
import time

habit, file = sys.argv[1:]


def line(op, job, **more):
    return json.dumps({"op": op, "id": job, "t_ns": time.time_ns() + AHEAD_NS, **more}) + "\n"


def tell(text):
    sys.stdout.write(text)
    sys.stdout.flush()


AHEAD_NS = 60_000_000_000 if habit == "clock ahead" else 0
if habit == "exits at once":
    sys.stderr.write("no such queue\n")
    sys.exit(3)
if habit == "ignores SIGTERM":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
if habit in ("leaves its group", "outlives its kill"):
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
if habit == "becomes a daemon" and os.fork():
    sys.exit(0)
EFFECTS = {"end before its effect": {"1": 1, "3": 1}, "hides a second run": {"1": 1, "2": 2, "3": 1}}.get(habit, {})
for job in ("1", "2", "3"):
    for op in ("push", "accepted", "begin", *["effect"] * EFFECTS.get(job, 0), "end"):
        if habit == "writes to a file":
            with open(file, "a") as events:
                events.write(line(op, job))
        elif not (habit == "end without begin" and (op, job) == ("begin", "2")):
            tell(line(op, job))
if habit == "id twice":
    tell(line("push", "1") + line("accepted", "1"))
if habit == "long line":
    tell('{"op": "push", "id": "' + "x" * 10_000_000 + '"}\n')
if habit == "bad event":
    tell('{"op": "pushed", "id": "4"}\n')
if habit == "bad event in a file":
    with open(file, "w") as events:
        events.write('{"op": "begin", "id": 4}\n{"op": "end", "id": "4"}\n{"op": "be')
if habit == "floods the log":
    for _ in range(300):
        sys.stderr.write("x" * 99_999 + "\n")
        tell("y" * 99_999 + "\n")
    for op in ("push", "accepted", "begin", "end"):
        tell(line(op, "4"))
if habit == "ends early":
    sys.exit(1)
while True:
    time.sleep(0.1)
