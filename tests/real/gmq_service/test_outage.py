"""Goal: ten seconds without the server are errors within a bound, and buckets wake up again; as v1.0 they do not (N1).

Method: the program on a real server that is stopped and goes on, or is killed and starts again. With ``compat`` an
outage that ends before the bucket looks is tried again: the look has to fail.
"""

import time
from datetime import UTC, datetime, timedelta
from itertools import count

import httpx
import pytest
import redis
from support.app.gmq_service import confirmed
from support.programs import until

from zonelab.app.gmq_service.clients import BlockingGmqClient, GmqError
from zonelab.cluster.zone import Restart

pytestmark = pytest.mark.real

OUTAGE_S = 10
LOOK_FAILS_S = 1.5


def refused(gmq, job_id):
    try:
        gmq.push(job_id, topic="mail")
    except GmqError as error:
        return "redis" in str(error)
    return False


def popped(gmq):
    job = gmq.pop("mail")
    return None if job is None else job.id


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_ten_seconds_without_the_server_are_errors_and_then_all_goes_on(server, service, how):
    zone, runner = server
    service.configure(buckets=1)
    with BlockingGmqClient(service.start()["rpc"]) as gmq:
        runner.run(zone.pause() if how == "stopped" else zone.kill())
        end_s, answers = time.monotonic() + OUTAGE_S, []
        while time.monotonic() < end_s:
            answers.append(refused(gmq, f"away-{len(answers)}"))
            time.sleep(0.1)
        assert all(answers)
        assert len(answers) > 1  # each within a bound, or the first would have waited for the end
        runner.run(zone.resume() if how == "stopped" else zone.restart(Restart.KEEP))
        until(lambda: confirmed(gmq, "later"))
        until(lambda: popped(gmq) == "later")


def test_with_compat_a_bucket_whose_look_failed_sleeps_while_pushes_are_confirmed(server, service):
    zone, runner = server
    service.configure(buckets=1)
    told = service.start("--compat")
    with BlockingGmqClient(told["rpc"]) as gmq, redis.Redis(port=service.server_port) as connection:
        attempts = count()

        def fell_asleep():
            until(lambda: sleeps(told["web"]))
            number = next(attempts)
            assert confirmed(gmq, f"before-{number}")
            runner.run(zone.kill())
            time.sleep(LOOK_FAILS_S)
            runner.run(zone.restart(Restart.KEEP))
            until(lambda: confirmed(gmq, f"after-{number}"))
            until(lambda: connection.zscore("gmq:bucket:0", f"after-{number}") is not None or not sleeps(told["web"]))
            return sleeps(told["web"])

        until(fell_asleep)
        assert confirmed(gmq, "still success")
        until(lambda: connection.zscore("gmq:bucket:0", "still success") is not None)
        assert sleeps(told["web"])


def sleeps(web):
    """Whether the one bucket looks in an hour at the earliest, by its own page."""
    (bucket,) = httpx.get(f"http://{web}/getBucketStat", trust_env=False).json()["data"]
    return datetime.fromisoformat(f"{bucket['next_time']}+00:00") > datetime.now(UTC) + timedelta(hours=1)
