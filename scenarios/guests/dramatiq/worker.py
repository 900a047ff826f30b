"""Runs dramatiq's worker with $THREADS threads."""

import os
import signal

from dramatiq import Worker
from jobs import broker

Worker(broker, worker_threads=int(os.environ.get("THREADS", "4"))).start()
print("listening", flush=True)
signal.sigwait({signal.SIGTERM})
