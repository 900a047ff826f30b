"""Runs Celery's worker with two processes."""

from jobs import app

app.worker_main(["worker", "--concurrency=2", "--without-gossip", "--without-mingle", "--loglevel=INFO"])
