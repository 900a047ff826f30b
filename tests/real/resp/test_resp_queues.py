"""Goal: queues made for a single Redis run ordinary jobs through a zone port. Method: rq, dramatiq, unmodified."""

import subprocess
import sys

import dramatiq
import pytest
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.worker import Worker as DramatiqWorker
from rq import Queue, Retry, SimpleWorker
from support.programs import until

pytestmark = pytest.mark.real

DEADLINE_S = 60

JOBS = '''
"""Jobs for rq."""

def add(one, other):
    return one + other

def fail():
    raise ValueError("on purpose")
'''


@pytest.fixture(autouse=True)
def _empty(cluster, quorum):
    cluster.flush()
    quorum.until_served()


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """A module ``zone_jobs`` that workers can import."""
    (tmp_path / "zone_jobs.py").write_text(JOBS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_rq_runs_jobs_retries_failures_and_honours_dependencies(cluster, quorum, jobs):
    with quorum.client() as connection:
        queue = Queue(connection=connection)
        first = [queue.enqueue("zone_jobs.add", number, 1) for number in range(20)]
        failing = queue.enqueue("zone_jobs.fail", retry=Retry(max=2))
        dependent = queue.enqueue("zone_jobs.add", 100, 1, depends_on=first[-1])
        worker = SimpleWorker([queue], connection=connection)
        assert worker.work(burst=True)
        assert [job.return_value(refresh=True) for job in first] == list(range(1, 21))
        assert dependent.return_value(refresh=True) == 101
        failing.refresh()
        assert failing.is_failed
        assert failing.retries_left == 0
        assert queue.count == 0
        assert queue.failed_job_registry.get_job_ids() == [failing.id]
    cluster.until_everywhere(0, "LLEN", "rq:queue:default")
    until(lambda: len({tuple(sorted(keys)) for keys in cluster.everywhere("KEYS", "rq:job:*")}) == 1)


def test_an_rq_worker_process_waits_for_jobs_and_forks_for_each(quorum, jobs):
    command = [sys.executable, "-m", "rq.cli", "worker", "--url", quorum.url, "--path", str(jobs), "--quiet"]
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=jobs)
    try:
        with quorum.client() as connection:
            queue = Queue(connection=connection)
            until(lambda: connection.smembers("rq:workers"))
            job = queue.enqueue("zone_jobs.add", 2, 3)
            until(lambda: job.get_status(refresh=True) == "finished")
            assert job.return_value(refresh=True) == 5
    finally:
        worker.terminate()
        worker.communicate(timeout=DEADLINE_S)


def test_dramatiq_delivers_delays_and_retries(cluster, quorum):
    broker = RedisBroker(client=redis.Redis(host=quorum.host, port=quorum.port))
    done, attempts = [], []

    def add(one, other):
        done.append(one + other)

    def unsteady():
        attempts.append(1)
        if len(attempts) < 3:
            raise ValueError("not yet")

    steady = dramatiq.actor(add, broker=broker)
    shaky = dramatiq.actor(unsteady, broker=broker, min_backoff=10, max_backoff=20)
    worker = DramatiqWorker(broker, worker_timeout=50, worker_threads=2)
    worker.start()
    try:
        for number in range(50):
            steady.send(number, 1)
        steady.send_with_options(args=(1000, 1), delay=100)
        shaky.send()
        until(lambda: len(done) == 51 and len(attempts) == 3)
        broker.join("default", timeout=DEADLINE_S * 1000)
        assert sorted(done) == [*range(1, 51), 1001]
    finally:
        worker.stop()
        broker.close()
    cluster.until_everywhere(0, "LLEN", "dramatiq:default")
