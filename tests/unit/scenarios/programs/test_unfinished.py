"""Goal: a message that any key of a zone holds is found, however it is encoded; that one is nowhere needs a proof.

Method: a simulated server with one message planted in each part of each kind of key, and searches that miss a part.
"""

import asyncio
import base64
import gzip
import json
import pickle
import zlib
from typing import Any, NoReturn

import pytest
from support.cluster.sim_lab import simulated_lab

from zonelab.engine.ports import Unavailable
from zonelab.scenarios.programs import stored_messages, unfinished
from zonelab.scenarios.programs.id_finder import IdFinder
from zonelab.scenarios.programs.stored_messages import SearchBounds, StoredMessage, ZoneSearch, search_zone
from zonelab.scenarios.programs.unfinished import UnfinishedSearch

ID = "0f7c3f52-9a39-4d8e-8f44-6f0f2b9c1d11"
MANY = 1_300
"""Elements of a key that are read in several pieces."""

FILL = {
    "list": [("RPUSH", "k", *(f"other-{number}" for number in range(MANY)))],
    "set": [("SADD", "k", *(f"other-{number}" for number in range(MANY)))],
    "sorted set": [("ZADD", "k", *(word for number in range(MANY) for word in (number, f"other-{number}")))],
    "value": [("HSET", "k", *(word for number in range(MANY) for word in (f"f-{number}", "x" * 80)))],
    "stream": [("XADD", "k", f"1-{number + 1}", "f", "x") for number in range(MANY)],
}
PLANTED: dict[str, tuple[tuple[str, ...], str, str]] = {
    "key": (("SET", f"job:{ID}", "x"), "key", "payload"),
    "string": (("SET", "k", f"about {ID}"), "string", "payload"),
    "list": (("RPUSH", "k", ID), "list", "queue"),
    "set": (("SADD", "k", f"job:{ID}"), "set", "queue"),
    "sorted set": (("ZADD", "k", "7.5", ID), "sorted set", "queue"),
    "field": (("HSET", "k", ID, "x"), "field", "payload"),
    "value": (("HSET", "k", "tag", f'{{"id": "{ID}"}}'), "value", "queue"),
    "stream": (("XADD", "k", "9-1", "task", f'{{"id": "{ID}"}}'), "stream", "queue"),
    "dead": (("ZADD", "rq:failed:default", "1", ID), "sorted set", "dead"),
}


def searched(commands: list[tuple[Any, ...]], ids: list[str], **bounds: int) -> ZoneSearch:
    with simulated_lab("a") as lab:

        async def planted() -> ZoneSearch:
            direct = lab.direct("a")
            await direct.execute(*commands)
            return await search_zone(direct, IdFinder(ids), SearchBounds(**bounds))

        return lab.run(planted())


@pytest.mark.parametrize("filled", [False, True], ids=["alone", "among many"])
@pytest.mark.parametrize("part", PLANTED)
def test_a_message_is_found_in_each_part_of_each_kind_of_key(part: str, filled: bool) -> None:
    command, kind, place = PLANTED[part]
    result = searched([*(FILL.get(part, []) if filled else []), command], [ID, "another-one-that-is-nowhere"])
    assert [(one.message_id, one.kind, one.place) for one in result.stored] == [(ID, kind, place)]
    assert result.complete
    assert result.stored[0].score == {"sorted set": 7.5, "dead": 1.0}.get(part)


@pytest.mark.parametrize("part", ["field", "value"])
def test_a_search_that_misses_a_part_of_a_hash_fails(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = stored_messages._Hashes.elements

    def lacking(self: Any, reply: Any) -> Any:
        return (one for one in whole(self, reply) if one.kind != part)

    monkeypatch.setattr(stored_messages._Hashes, "elements", lacking)
    with pytest.raises(AssertionError):
        test_a_message_is_found_in_each_part_of_each_kind_of_key(part, filled=False)


ENCODED = {
    "plain": f"job:{ID};".encode(),
    "zlib": zlib.compress(pickle.dumps({"id": ID})),
    "gzip": gzip.compress(ID.encode()),
    "base64": base64.b64encode(f'["{ID}"]'.encode()),
    "urlsafe": base64.urlsafe_b64encode(f'["{ID}??>>"]'.encode()),
    "kombu": json.dumps({"body": base64.b64encode(json.dumps([[], {"id": ID}]).encode()).decode()}).encode(),
    "rq in JSON": json.dumps({"data": base64.b64encode(zlib.compress(ID.encode())).decode()}).encode(),
    "nested JSON": json.dumps({"body": json.dumps({"id": ID})}).encode(),
}


@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize("others", [1, 100])
def test_an_id_is_found_through_its_encodings(encoding: str, others: int) -> None:
    finder = IdFinder([ID, *(f"job-number-{number:04}" for number in range(others))])
    assert list(finder.found(ENCODED[encoding])) == [ID]


def test_any_of_many_ids_is_found_whose_ends_are_in_any_order() -> None:
    ids = [f"job-{number * 7_919 % 10_007:05}-of-many" for number in range(300)]
    ids += [f"{number * 7_919 % 10_007:012}" for number in range(300)]
    finder = IdFinder(ids)
    assert {found for one in ids for found in finder.found(f"<{one}>".encode())} == set(ids)
    assert finder.found(b"<job-99999-of-many> <999999999999> <zzzzzzzzzzzz>") == {}


def test_an_id_that_is_escaped_is_found() -> None:
    assert list(IdFinder(["größe/1"]).found(json.dumps({"id": "größe/1"}).encode())) == ["größe/1"]


@pytest.mark.parametrize("others", [0, 100])
@pytest.mark.parametrize(
    ("one", "text", "there"),
    [
        ("7", b'["6", "7"]', True),
        ("7", b"77 17 7x", False),
        ("job-1", b"bull:q:job-1", True),
        ("job-1", b"bull:q:job-12", False),
        ("task-0001", b"task-00012 task-00013", False),
        ("task-0001", b"task-00012 task-0001.", True),
        (ID, b"xx" + ID.encode() + b"yy", True),
    ],
)
def test_an_id_is_no_part_of_a_longer_one(one: str, text: bytes, there: bool, others: int) -> None:
    finder = IdFinder([one, *(f"another-{number:04}" for number in range(others))])
    assert list(finder.found(text)) == [one] * there


def test_what_is_stored_under_its_own_name_only_describes_a_message() -> None:
    commands = [("HSET", f"asynq:t:{ID}", "msg", f"protobuf {ID}"), ("HSET", "jobs", ID, f"payload {ID}")]
    assert {one.place for one in searched(commands, [ID]).stored} == {"payload"}
    assert searched([*commands, ("LPUSH", "asynq:pending", ID)], [ID]).stored[-1].place in ("payload", "queue")


@pytest.mark.parametrize("bound", [{"keys": 1}, {"bytes": 10}, {"value_bytes": 5}])
def test_a_search_that_reaches_a_bound_is_not_complete(bound: dict[str, int]) -> None:
    assert not searched([("SET", "a", "a long value"), ("SET", "b", "another one")], [ID], **bound).complete


class TestUnfinishedSearch:
    def _rows(
        self, *commands: tuple[str, ...], proof: str | None = None
    ) -> tuple[UnfinishedSearch, list[dict[str, Any]]]:
        with simulated_lab("a", "b") as lab:

            async def planted() -> tuple[UnfinishedSearch, list[dict[str, Any]]]:
                search = UnfinishedSearch(lab.direct, zones=("a", "b"))
                if proof is not None:
                    await lab.direct("b").execute(("LPUSH", "waiting", proof))
                    await search.prove("b", [proof])
                    await lab.direct("b").execute(("DEL", "waiting"))
                for command in commands:
                    await lab.direct("a").execute(command)
                return search, await search.rows([ID, "another-id"])

            return lab.run(planted())

    def test_without_a_proof_nothing_is_nowhere(self) -> None:
        search, rows = self._rows(("SET", f"job:{ID}", "x"))
        assert not search.known
        assert search.told()["nowhere"] is None
        assert search.unproved.startswith("2 accepted messages have not ended")
        assert [row["place"] for row in rows] == ["payload"]

    def test_a_message_that_was_found_during_the_run_is_a_proof(self) -> None:
        search, rows = self._rows(proof="job-that-waits")
        assert (search.known, rows) == (True, [])
        assert search.told()["nowhere_ids"] == [ID, "another-id"]

    def test_a_message_that_is_still_stored_is_a_proof_of_its_own(self) -> None:
        search, rows = self._rows(("LPUSH", "waiting", ID))
        assert search.known
        (row,) = rows
        assert (row["zone"], row["place"], row["message_id"], row["serving"]) == ("a", "queue", ID, True)
        told = search.told()
        assert told["nowhere_ids"] == ["another-id"]
        assert told["stored"] == [{"id": ID, "zone": "a", "place": "queue", "where": "'waiting' (list)"}]

    def test_where_nothing_is_unfinished_nothing_is_searched(self) -> None:
        with simulated_lab("a") as lab:
            search = UnfinishedSearch(lab.direct, zones=("a",))
            assert lab.run(search.rows([])) == []
        assert search.known
        assert search.told()["searched"] == {}

    def test_a_search_that_is_not_whole_leaves_a_run_that_has_finished_all_known(self) -> None:
        def away(zone: str) -> NoReturn:
            raise Unavailable(zone)

        search = UnfinishedSearch(away, zones=("a",))
        assert asyncio.run(search.rows([], finished=[ID])) == []
        assert (search.known, search.unread, search.judges_orphans) == (True, [], False)


def of_finished(*commands: tuple[str, ...], proved: bool = True) -> tuple[UnfinishedSearch, list[dict[str, Any]]]:
    """Return the search of a zone in which ``commands`` were carried out, after two messages had ended."""
    with simulated_lab("a") as lab:

        async def searched() -> tuple[UnfinishedSearch, list[dict[str, Any]]]:
            direct, search = lab.direct("a"), UnfinishedSearch(lab.direct, zones=("a",))
            await direct.execute(("LPUSH", "waiting", "job-that-waits"))
            if proved:
                await search.prove("a", ["job-that-waits"])
            await direct.execute(*commands)
            return search, await search.rows([], finished=[ID, "another-id"])

        return lab.run(searched())


LEFT = {
    "field": [("HSET", "jobs", ID, "x")],
    "key": [("HSET", f"job:{ID}", "data", "x")],
}
KEPT_ON_PURPOSE = {
    "result that expires": [("SET", f"celery-task-meta-{ID}", "x", "EX", "100")],
    "list of finished ones": [("HSET", f"bull:q:{ID}", "data", "x"), ("ZADD", "bull:q:completed", "1", ID)],
    "text under another name": [("SET", "latest", ID)],
    "log": [("XADD", "events", "1-1", "job", ID)],
    "key of another name that has the id": [("HSET", f"job:{ID}:dependents", "data", "x")],
}


@pytest.mark.parametrize("commands", LEFT.values(), ids=LEFT)
@pytest.mark.parametrize("proved", [True, False])
def test_what_is_left_of_a_finished_message_is_an_orphan(commands: list[tuple[str, ...]], proved: bool) -> None:
    search, rows = of_finished(*commands, proved=proved)
    assert [(row["zone"], row["place"], row["message_id"], row["serving"]) for row in rows] == [
        ("a", "payload", ID, False)
    ]
    told = search.told()
    assert (told["finished"], told["orphans"], told["stored"], told["nowhere"]) == (2, 1, [], 0)
    assert sum(told["orphans_where"].values()) == 1
    assert search.judges_orphans


@pytest.mark.parametrize("commands", KEPT_ON_PURPOSE.values(), ids=KEPT_ON_PURPOSE)
def test_what_a_queue_keeps_of_finished_messages_on_purpose_is_none(commands: list[tuple[str, ...]]) -> None:
    search, rows = of_finished(*commands)
    assert (rows, search.told()["orphans"], search.judges_orphans) == ([], 0, True)


def test_a_zone_that_was_not_read_whole_has_no_orphans_as_it_may_list_them_in_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut = SearchBounds(keys=0)
    monkeypatch.setattr(unfinished, "search_zone", lambda direct, finder, _=cut: search_zone(direct, finder, cut))
    search, rows = of_finished(*LEFT["key"])
    assert (rows, search.told()["orphans"], search.judges_orphans) == ([], 0, False)


def test_that_nothing_is_left_needs_a_proof() -> None:
    search, rows = of_finished(("ZADD", "completed", "1", ID), proved=False)
    assert (rows, search.known, search.judges_orphans) == ([], True, False)


def test_a_stored_message_says_where_it_is() -> None:
    one = StoredMessage(message_id=ID, key="unacked", kind="value", encoding="base64", describes=False)
    assert str(one) == "'unacked' (value, base64)"
