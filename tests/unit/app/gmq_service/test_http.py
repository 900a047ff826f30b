"""Goal: HTTP answers as Youzan's queue and gmq's web monitor did, to those who may ask.

Method: exchanges with the applications in this process, on a model of Redis.
"""

import asyncio
import json

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.app.gmq_service import KEYS, on_service, service_bench, until

TOKEN = "0123456789abcdef"


def done(data="null", message="操作成功"):
    return f'{{"code":0,"message":"{message}","data":{data}}}'


def refused(message):
    return f'{{"code":1,"message":"{message}","data":null}}'


API = [
    ("/push", '{"topic":" order ","id":"15 ","delay":0,"ttr":120}', refused("delay 取值范围1 - (2^31 - 1)")),
    ("/push", '{"topic":"order","id":"15","delay":9,"ttr":86401}', refused("ttr 取值范围1 - 86400")),
    ("/push", '{"topic":"order","id":" ","delay":9,"ttr":1}', refused("job id不能为空")),
    ("/push", '{"id":"15","delay":9,"ttr":1}', refused("topic 不能为空")),
    ("/push", '{"id":15}', refused("解析json失败")),
    ("/push", "[]", refused("解析json失败")),
    ("/push", '{"id":"' + "x" * 100_000, refused("解析json失败")),
    ("/pop", "{}", refused("topic不能为空")),
    ("/get", "{}", refused("job id不能为空")),
    ("/get", '{"id":"15"}', done()),
    ("/push", '{"topic":" order ","ID":"15 ","delay":2147483648,"ttr":120}', done(message="添加成功")),
    ("/push", '{"topic":"order","id":"15","delay":1,"ttr":120,"body":"a<b"}', done(message="添加成功")),
    ("/pop", '{"topic":"none,order"}', done('{"id":"15","body":"a\\u003cb"}')),
    ("/get", '{"id":"15"}', done('{"topic":"order","id":"15","delay":0,"ttr":120,"body":"a\\u003cb"}')),
    ("/finish", '{"id":"15"}', done()),
    ("/finish", '{"id":"15"}', done()),
    ("/delete", '{"id":""}', refused("job id不能为空")),
    ("/get", '{"id":"15"}', done()),
    (
        "/",
        '{"command":"add","topic":"o","id":"9","delay":0,"TTR":5,"body":"b"}',
        '{"success":true,"error":null,"id":"9","value":null}',
    ),
    ("/", '{"command":"pop","topic":"o"}', '{"success":true,"error":null,"id":"9","value":"b"}'),
    ("/", '{"command":"pop","topic":"o"}', '{"success":true,"error":null,"id":null,"value":null}'),
    ("/", '{"command":"delete","id":"9"}', '{"success":true,"error":null,"id":"9","value":null}'),
    (
        "/",
        '{"command":"buy"}',
        '{"success":false,"error":"command: got \'buy\'; accepted: add, pop, finish, delete","id":null,"value":null}',
    ),
]


def http(app):
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1")


@on_service()
async def test_the_api_answers_as_ouqiang_s_and_the_article_s(bench):
    async with http(bench.api()) as client:
        said = []
        for path, body, _ in API:
            said.append((await client.post(path, content=body)).text)
            if "add" in body:
                await until(lambda: bench.server.ask("LLEN", KEYS.ready("o")))
        unknown = (await client.post("/nothing")).status_code
    assert said == [answer for _, _, answer in API]
    assert unknown == 404


@on_service()
async def test_an_outage_is_the_original_s_failure(bench):
    async with http(bench.api()) as client:
        bench.server.away = True
        push = await client.post("/push", content='{"topic":"o","id":"1","delay":1,"ttr":1}')
        assert push.text == refused("添加失败")
        assert (await client.post("/pop", content='{"topic":"o"}')).text == refused("获取Job失败")


@on_service()
async def test_the_web_monitor_s_json(bench):
    async with http(bench.web()) as client, http(bench.api()) as api:
        await api.post("/push", content='{"topic":"mail","id":"7","delay":3661,"ttr":9}')
        await until(lambda: bench.server.ask("EXISTS", *map(KEYS.delay_bucket, range(3))))
        await api.post("/", content='{"command":"add","topic":"sms","id":"8"}')
        await until(lambda: bench.server.ask("LLEN", KEYS.ready("sms")))
        buckets = (await client.get("/getBucketStat")).json()
        used = next(row["bucket_name"] for row in buckets["data"] if row["job_num"])
        paths = ("/getTTRBucketStat", f"/getJobsByBucketKey?bucketKey={used}", "/getReadyQueueStat", "/health")
        wrong = ("/getJobsByBucketKey", f"/getJobsByBucketKey?bucketKey={used}&limit=x", "/none")
        bad_kind = f"/getJobsByBucketKey?bucketKey={KEYS.job('7')}"
        leases, jobs, ready, health = [(await client.get(path)).json() for path in paths]
        statuses = [(await client.get(path)).status_code for path in (*wrong, bad_kind)]
        posted = (await client.post("/getBucketStat")).status_code
    assert list(buckets) == ["code", "data", "msg"]
    assert sum(row["job_num"] for row in buckets["data"]) == 1
    assert [row["bucket_name"] for row in leases["data"]] == [f"gmq:bucket:TTR:{letter}" for letter in "ABC"]
    (job,) = jobs["data"]
    assert (job["id"], job["ttr"], job["delay_time"], job["topic"]) == ("7", "9", "1h1m1s", "mail")
    assert job["status"] == '<span class="layui-badge layui-bg-orange">delay</span>'
    assert ready["data"] == [{"id": 1, "queue_name": "gmq:readyqueue:sms", "job_num": 1}]
    assert (health, statuses, posted) == ({"healthy": True}, [400, 500, 404, 500], 404)


@on_service()
async def test_an_empty_list_is_null_as_go_writes_it(bench):
    async with http(bench.web()) as client:
        assert (await client.get("/getReadyQueueStat")).text == '{"code":0,"data":null,"msg":""}'


@pytest.mark.parametrize("which", ["api", "web"])
def test_pages_of_others_are_refused_and_with_a_token_whoever_lacks_it(which):
    async def statuses(token, headers):
        async with service_bench() as bench, http(getattr(bench, which)(token=token)) as client:
            path = {"api": "/get", "web": "/health"}[which]
            return (await client.request("GET", path, content='{"id":"1"}', headers=headers)).status_code

    asked = [
        (None, {}),
        (None, {"origin": "http://elsewhere"}),
        (None, {"host": "elsewhere"}),
        (TOKEN, {}),
        (TOKEN, {"authorization": f"Bearer {TOKEN}"}),
    ]
    assert [asyncio.run(statuses(*one)) for one in asked] == [200, 403, 403, 401, 200]


@on_service()
async def test_metrics_have_no_label_that_a_client_chose(bench):
    async with http(bench.web()) as client:
        rpc = bench.client()
        for topic in ("mail", "chosen"):
            push = f'{{"method":"Service.Push","params":[{{"id":"{topic}","topic":"{topic}"}}],"id":0}}'
            await rpc.ask(push.encode())
        await rpc.ask(b'{"method":"Service.Chosen","params":[],"id":0}')
        await until(lambda: bench.server.ask("LLEN", KEYS.ready("chosen")))
        text = (await client.get("/metrics")).text
    values = {
        (one.name, *one.labels.values()): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }
    assert values["zonelab_gmq_requests_total", "Push", "ok"] == 2
    assert values["zonelab_gmq_requests_total", "other", "error"] == 1
    assert values["zonelab_gmq_ready_jobs", "mail"] == 1
    assert "chosen" not in text.lower()


def test_a_reply_to_another_request_is_not_taken_for_ours():
    from zonelab.app.gmq_service.clients.messages import WrongReply, result_of

    line = json.dumps({"id": 2, "result": "success", "error": None}).encode()
    assert result_of(line, 2) == "success"
    with pytest.raises(WrongReply, match="asked with id 1, got the reply to id 2"):
        result_of(line, 1)
