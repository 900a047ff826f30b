"""Goal: a hardened service answers as the others do, and one that is killed leaves every confirmed job to the next."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from support.app.gmq_service import ModelServer, on_service, service_bench

from zonelab.app.gmq_service.backend import hardened
from zonelab.app.gmq_service.backend.jobs import Refused
from zonelab.engine.gmq.jobs import Job
from zonelab.engine.gmq.served_jobs import AckOutcome
from zonelab.engine.ports import Unavailable


def call(method, argument):
    return json.dumps({"method": f"Service.{method}", "params": [argument], "id": 0}).encode()


def push(job_id, *, topic="mail", delay="0", ttr="5"):
    return call("Push", {"id": job_id, "topic": topic, "body": "b<", "delay": delay, "TTR": ttr})


async def said(client, *calls):
    answers = [json.loads(await client.ask(one)) for one in calls]
    return [one["result"] if one["error"] is None else one["error"] for one in answers]


@on_service(hardened=True)
async def test_pushes_pops_and_acks_are_answered_in_the_same_words(bench):
    client = bench.client()
    pushed = await said(client, push("1"), push("1"), push("2", ttr="0"), push("3", delay="60"))
    (job,) = await said(client, call("Pop", ["none", "mail"]))
    acks = await said(client, call("Ack", "1"), call("Ack", "1"), call("Ack", "3"))
    (once,) = await said(client, call("Pop", ["mail"]))
    rest = await said(client, call("Pop", ["mail"]), push("1"))
    has_exist = "jobKey:gmq:jobpool:1,error:has exist"
    assert pushed == ["success", has_exist, "success", "success"]
    assert (job["id"], job["body"], job["TTR"], job["delay"], job["status"]) == ("1", "b<", "5", "0", "3")
    assert acks == [True, "Job is not be reserved", "Job is not be reserved"]
    assert once["id"] == "2"
    assert rest == ["empty", has_exist]


@on_service(hardened=True)
async def test_a_job_is_deleted_from_every_topic_that_has_its_id(bench):
    client = bench.client()
    await said(client, *(push("1", topic=topic) for topic in "abc"), push("2", topic="b"))
    assert await bench.jobs.remove("1")
    first, second, third = await said(client, *(call("Pop", [topic]) for topic in "abc"))
    assert (first, second["id"], third) == ("empty", "2", "empty")


@on_service(hardened=True)
async def test_topics_beyond_the_bound_are_refused(bench):
    *_, last = await said(bench.client(), *(push("1", topic=topic) for topic in "abcd"))
    assert last == "job.topic must be one of the 3 topics that there are, got 'd'"


def test_the_next_service_has_the_jobs_of_one_that_ended():
    async def exchange():
        server = ModelServer()
        async with service_bench(hardened=True, server=server) as bench:
            await said(bench.client(), push("1"), push("2", topic="sms"))
        async with service_bench(hardened=True, server=server) as bench:
            return await said(bench.client(), call("Pop", ["sms"]), call("Pop", ["mail"]))

    assert [job["id"] for job in asyncio.run(exchange())] == ["2", "1"]


class PlayedQueue:
    """Of one topic: ``acks`` are the outcomes of the next ones; an id is stored once."""

    def __init__(self, *_, **__):
        self.server, self.messages, self.given_back, self.acks = self, {}, [], []

    def start(self):
        pass

    async def push_new(self, messages):
        new = {one.id: None if one.id in self.messages else 1 for one in messages}
        self.messages |= {one.id: one for one in messages}
        return new

    async def pop(self, count):
        *_, message = self.messages.values()
        return [SimpleNamespace(message=message, lease_end_ms=2**60)]

    async def give_back(self, delivery):
        self.given_back.append(delivery.message.id)

    async def ack(self, delivery):
        outcome = self.acks.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class PlayedConnection:
    async def execute(self, *commands):
        return [1 for _ in commands]


def test_what_the_queue_refuses_is_told_as_that_and_what_nobody_knows_can_be_asked_again(monkeypatch):
    async def started():
        pass

    queue = PlayedQueue()
    monkeypatch.setattr(hardened, "HardenedQueue", lambda *_, **__: queue)
    monkeypatch.setattr(hardened, "HardenedDispatcher", lambda *_: SimpleNamespace(start=started))
    monkeypatch.setattr(hardened, "HardenedContext", SimpleNamespace(of=lambda *_, **__: None))
    clock = SimpleNamespace(now_ms=lambda: 0)
    jobs = hardened.HardenedJobs(
        **{"runtime": None, "clock": clock, "connection": PlayedConnection(), "prefix": "gmq", "instance": "one"},
        **{"topics_max": 3, "on_ready": lambda _: None},
    )
    job, once = (
        Job(id=job_id, topic="mail", delay_s=0, ttr_s=ttr_s, body="b") for job_id, ttr_s in (("1", 5), ("2", 0))
    )

    async def exchange():
        await jobs.push(job)
        assert await jobs.pop(["mail"], lambda: False) is None
        assert queue.given_back == ["1"]
        assert await jobs.pop(["mail"], lambda: True) == job
        queue.acks = [Unavailable("gone"), False, False]
        with pytest.raises(Unavailable):
            await jobs.ack("1")
        assert await jobs.ack("1") is AckOutcome.READY_AGAIN
        await jobs.push(once)
        assert await jobs.pop(["mail"], lambda: True) is None
        with pytest.raises(Refused, match="is there, or was within the last day"):
            await jobs.replace(job)

    asyncio.run(exchange())
