"""Closes the connections of its zone that are idle, once a job is acknowledged, and then waits for its end."""

import signal
import sys
import time

import redis

server = redis.Redis.from_url(sys.argv[1])
held = set()
while not held or held & set(server.hkeys("unacked")):
    time.sleep(0.02)
    held = held or set(server.hkeys("unacked"))
for connection in server.client_list():
    if int(connection["idle"]) >= 1:
        print("closed connection", server.client_kill_filter(_id=connection["id"]), file=sys.stderr)
signal.pause()
