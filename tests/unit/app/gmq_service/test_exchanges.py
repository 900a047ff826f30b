"""Goal: JSON-RPC answers what gmq v1.0 answered, byte for byte. Method: exchanges of its PHP, Python and Go clients and
of mistaken ones, as they were seen at the program itself, against the service on a model of Redis."""

import asyncio
import json

import pytest
from support.app.gmq_service import KEYS, on_service, service_bench, until
from support.coroutines import coroutine

PUSH = '{"method":"Service.Push","params":[{"id":"%s","topic":"mail","body":"%s","delay":"%s","TTR":"%s"}],"id":0}\n'
POP = b'{"method":"Service.Pop","params":[["mail"]],"id":1}\n'
ACK = b'{"method":"Service.Ack","params":["7"],"id":2}\n'
SUCCESS = b'{"id":0,"result":"success","error":null}\n'


def push(job_id="7", body="b", delay="0", ttr="5"):
    return (PUSH % (job_id, body, delay, ttr)).encode()


def popped(job_id="7", body="b", delay="0", ttr="5", consumed="0"):
    return (
        f'{{"id":1,"result":{{"TTR":"{ttr}","body":"{body}","consume_num":"{consumed}","delay":"{delay}",'
        f'"id":"{job_id}","status":"3","topic":"mail"}},"error":null}}\n'
    ).encode()


def error(text, request_id="1"):
    return f'{{"id":{request_id},"result":null,"error":"{text}"}}\n'.encode()


ATOI = 'strconv.Atoi: parsing \\"\\": invalid syntax'

EXCHANGES = {
    "php": [
        (
            b'{"method":"Service.Push","params":[{"id":"xxxx_id1","topic":"topic_1","body":"a\\/b \\u4f60",'
            b'"delay":"0","TTR":"3"}],"id":"5f1"}\n',
            b'{"id":"5f1","result":"success","error":null}\n',
        ),
        (
            b'{"method":"Service.Pop","params":[["topic_1","topic_2"]],"id":"5f2"}\n',
            '{"id":"5f2","result":{"TTR":"3","body":"a/b 你","consume_num":"0","delay":"0","id":"xxxx_id1",'
            '"status":"3","topic":"topic_1"},"error":null}\n'.encode(),
        ),
        (
            b'{"method":"Service.Ack","params":["xxxx_id1"],"id":"5f3"}\n',
            b'{"id":"5f3","result":true,"error":null}\n',
        ),
    ],
    "python": [
        (
            b'{"method": "Service.Push", "params": [{"id": "7", "topic": "mail", "body": "b", "delay": "0", '
            b'"TTR": "5"}], "id": 0}',
            SUCCESS,
        ),
        (b'{"method": "Service.Pop", "params": [["mail"]], "id": 1}', popped()),
        (b'{"method": "Service.Ack", "params": ["7"], "id": 0}', b'{"id":0,"result":true,"error":null}\n'),
    ],
    "go": [
        (
            b'{"method":"Service.Push","params":[{"TTR":"5","body":"b","delay":"0","id":"7","topic":"mail"}],"id":0}\n',
            SUCCESS,
        ),
        (POP, popped()),
        (ACK, b'{"id":2,"result":true,"error":null}\n'),
        (ACK, error(ATOI, "2")),
    ],
    "order of topics": [
        (push("7").replace(b'"mail"', b'"slow"'), SUCCESS),
        (push("8"), SUCCESS),
        (POP.replace(b'["mail"]', b'["mail","slow"]'), popped("8")),
        (POP.replace(b'["mail"]', b'["mail","slow"]'), popped("7").replace(b"mail", b"slow")),
    ],
    "ttr 0": [(push(ttr="0"), SUCCESS), (POP, popped(ttr="0")), (ACK, error(ATOI, "2"))],
    "not popped": [(push(), SUCCESS), (ACK, error("Job is not be reserved", "2"))],
    "delayed": [
        (push(delay="60"), SUCCESS),
        (ACK, error("Unknown error", "2")),
        (POP, error("empty")),
    ],
    "twice": [
        (push(), SUCCESS),
        (push(), b'{"id":0,"result":"jobKey:gmq:jobpool:7,error:has exist","error":null}\n'),
    ],
    "without id or topic": [
        (push(job_id=""), b'{"id":0,"result":"job.id is empty","error":null}\n'),
        (push().replace(b"mail", b""), b'{"id":0,"result":"job.topic is empty","error":null}\n'),
        (b'{"method":"Service.Push","params":[],"id":0}', b'{"id":0,"result":"job.id is empty","error":null}\n'),
        (b'{"method":"Service.Push","params":[null],"id":0}', b'{"id":0,"result":"job.id is empty","error":null}\n'),
        (b'{"method":"Service.Pop","params":[[]],"id":1}', error("topics is empty")),
    ],
    "numbers": [(push(delay="-007", ttr="+0"), SUCCESS), (POP, popped(delay="-7", ttr="0"))],
    "no numbers": [(push(delay=" 5", ttr="1_0"), SUCCESS), (POP, popped(ttr="0"))],
    "escapes": [
        (push(body="<a>&\\u2028é\\t\\ud800"), SUCCESS),
        (POP, popped(body="\\u003ca\\u003e\\u0026\\u2028é\\t�")),
    ],
    "bad utf-8": [(push(body="X").replace(b"X", b"\xe2\x82\xff"), SUCCESS), (POP, popped(body="���"))],
    "ids": [
        (ACK.replace(b'"id":2', b'"id":1.50'), error(ATOI, "1.50")),
        (ACK.replace(b'"id":2', b'"id": {"a" : [1, "x y"]}'), error(ATOI, '{"a":[1,"x y"]}')),
        (ACK.replace(b',"id":2', b""), error(ATOI, "null")),
        (b"{}", error("rpc: service/method request ill-formed: ", "null")),
        (b"null", error("rpc: service/method request ill-formed: ", "null")),
    ],
    "methods": [
        (ACK.replace(b"Service.Ack", b"Nobody.Ack"), error("rpc: can't find service Nobody.Ack", "2")),
        (ACK.replace(b"Ack", b"Nack"), error("rpc: can't find method Service.Nack", "2")),
        (ACK.replace(b"Service.", b""), error("rpc: service/method request ill-formed: Ack", "2")),
        (b'{"METHOD":"Service.Ack","PARAMS":["7", 8],"Id":2,"more":1}', error(ATOI, "2")),
        (b'{"method":"Service.Ack","id":2}', error("jsonrpc: request body missing params", "2")),
    ],
    "kinds": [
        (push().replace(b'"5"', b"5"), error("json: cannot unmarshal number into Go value of type string", "0")),
        (
            push().replace(b'"mail"', b'["mail"]'),
            error("json: cannot unmarshal array into Go value of type string", "0"),
        ),
        (POP.replace(b'["mail"]', b'"mail"'), error("json: cannot unmarshal string into Go value of type []string")),
        (ACK.replace(b'["7"]', b"[true]"), error("json: cannot unmarshal bool into Go value of type string", "2")),
        (
            ACK.replace(b'["7"]', b"{}"),
            error("json: cannot unmarshal object into Go value of type [1]interface {}", "2"),
        ),
    ],
    "no request": [(b"[1]", b"")],
    "bad json": [(b'{"method":"Service.Ack",}', b"")],
    "no value": [(b'{"method":}', b"")],
    "a control character": [(b'{"method":"Ser\x01"}', b"")],
    "a method that is no text": [(b'{"method":5}', b"")],
    "hopeless before its end": [(b'{"method" "Service.Ack", and so on, and so on', b"")],
}


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
@pytest.mark.parametrize("name", EXCHANGES)
@coroutine
async def test_each_exchange_is_the_original_s(name, compat):
    async with service_bench(compat=compat) as bench:
        client = bench.client()
        for sent, answer in EXCHANGES[name]:
            assert await client.ask(sent) == answer
            await until(lambda: settled(bench.server))
        assert client.wire.closed.is_set() is (EXCHANGES[name][-1][1] == b"")


def settled(server):
    """No job waits for the dispatcher to write it somewhere."""
    jobs = server.ask("KEYS", KEYS.job("*"))
    return all(server.ask("HGET", key, "status") in (b"1", b"2") for key in jobs)


def test_v1_formats_an_id_and_ours_does_not():
    async def answer(compat):
        async with service_bench(compat=compat) as bench:
            client = bench.client()
            await client.ask(push("50%d%%!"))
            return await client.ask(push("50%d%%!"))

    assert b"jobpool:50%!d(MISSING)%!,error" in asyncio.run(answer(compat=True))
    assert b"jobpool:50%d%%!,error" in asyncio.run(answer(compat=False))


@pytest.mark.parametrize("size", [1, 7])
@on_service()
async def test_requests_come_in_pieces_and_several_at_once(bench, size):
    client, sent = bench.client(), push(body='\\"}{\\\\') + push() + POP
    for begin in range(0, len(sent) - 1, size):
        client.protocol.data_received(sent[begin : begin + size])
    answers = await client.answer(lines=3)
    assert SUCCESS.strip() in answers.splitlines()
    assert b"has exist" in answers
    assert answers.count(b"\n") == 3


@on_service()
async def test_each_reply_has_the_id_of_its_own_request(bench):
    client = bench.client()
    for number in range(60):
        client.protocol.data_received(push(str(number)).replace(b'"id":0', b'"id":%d' % number))
        client.protocol.data_received(b'{"method":"Service.Ack%d","params":[],"id":%d}' % (number, number))
    answers = [json.loads(line) for line in (await client.answer(lines=120)).splitlines()]
    assert sorted(answer["id"] for answer in answers) == sorted([*range(60), *range(60)])
    assert [
        one for one in answers if one["error"] and one["error"] != f"rpc: can't find method Service.Ack{one['id']}"
    ] == []
