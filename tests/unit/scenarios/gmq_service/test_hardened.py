"""Goal: a hardened service answers as the others do, and one that is killed leaves every confirmed job to the next."""

import asyncio
import json

from support.scenarios.gmq_service import ModelServer, service_bench


def call(method, argument):
    return json.dumps({"method": f"Service.{method}", "params": [argument], "id": 0}).encode()


def push(job_id, *, topic="mail", delay="0", ttr="5"):
    return call("Push", {"id": job_id, "topic": topic, "body": "b<", "delay": delay, "TTR": ttr})


async def said(client, *calls):
    answers = [json.loads(await client.ask(one)) for one in calls]
    return [one["result"] if one["error"] is None else one["error"] for one in answers]


def test_pushes_pops_and_acks_are_answered_in_the_same_words():
    async def exchange():
        async with service_bench(hardened=True) as bench:
            client = bench.client()
            pushed = await said(client, push("1"), push("1"), push("2", ttr="0"), push("3", delay="60"))
            (job,) = await said(client, call("Pop", ["none", "mail"]))
            acks = await said(client, call("Ack", "1"), call("Ack", "1"), call("Ack", "3"))
            (once,) = await said(client, call("Pop", ["mail"]))
            return pushed, job, acks, once["id"], await said(client, call("Pop", ["mail"]), push("1"))

    pushed, job, acks, once, rest = asyncio.run(exchange())
    has_exist = "jobKey:gmq:jobpool:1,error:has exist"
    assert pushed == ["success", has_exist, "success", "success"]
    assert (job["id"], job["body"], job["TTR"], job["delay"], job["status"]) == ("1", "b<", "5", "0", "3")
    assert acks == [True, "Job is not be reserved", "Job is not be reserved"]
    assert once == "2"
    assert rest == ["empty", has_exist]


def test_topics_beyond_the_bound_are_refused():
    async def exchange():
        async with service_bench(hardened=True) as bench:
            return await said(bench.client(), *(push("1", topic=topic) for topic in "abcd"))

    assert asyncio.run(exchange())[3] == "job.topic must be one of the 3 topics that there are, got 'd'"


def test_the_next_service_has_the_jobs_of_one_that_ended():
    async def exchange():
        server = ModelServer()
        async with service_bench(hardened=True, server=server) as bench:
            await said(bench.client(), push("1"), push("2", topic="sms"))
        async with service_bench(hardened=True, server=server) as bench:
            return await said(bench.client(), call("Pop", ["sms"]), call("Pop", ["mail"]))

    assert [job["id"] for job in asyncio.run(exchange())] == ["2", "1"]
