"""Goal: what one zone of a fenced partition answers, and has then. Method: the scripts, on one simulated server."""

import pytest
from support.engine.fenced import FencedBench

from zonelab.engine.fifo.fenced.scripts import run
from zonelab.engine.fifo.fenced.views import RegisterView, Views

ERA = "1-first"


class Zone:
    """A zone that takes part in era ``ERA``; ``says``: its answer to a script."""

    def __init__(self, bench):
        self.bench, self.partition, self.keys = bench, bench.partitions[0], bench.keys
        (info,) = self.ask(("INFO", "server"))
        self.process = info.decode().partition("run_id:")[2].split("\r", 1)[0]
        assert self.says("found", ERA, self.process) == "ok"

    def ask(self, *commands):
        return self.bench.run(self.bench.cluster.direct("a").execute(*commands))

    def says(self, script, *words):
        meta, registers, log, inbox, aside, filled, delayed = self.keys.all(self.partition)
        names = {"write": [meta, registers, log, inbox, aside, delayed], "admit": [meta, registers, filled]}
        names |= dict.fromkeys(("found", "fill"), self.keys.all(self.partition))
        (answer,) = self.ask(run(script, names.get(script, [meta, registers]), *words))
        return answer.decode()

    def claims(self, session, token, *, now_ms=1, ends_ms=100, era=ERA):
        return self.says("claim", era, "log", token, session, now_ms, ends_ms, 0)

    def writes(self, number, state, *, token=1, ends_ms=100):
        return self.says("write", ERA, "log", token, "owner", ends_ms, number, state, 1, 0, 0)

    def is_another_process(self):
        self.ask(("HSET", self.keys.meta(self.partition), "mark", "of another process"))

    @property
    def register(self):
        (raw,) = self.ask(("HGET", self.keys.registers(self.partition), "log"))
        return RegisterView.parse(raw)

    def has(self, **fields):
        view = RegisterView(**fields)
        text = f"{view.promised} {view.owner} {view.ends_ms} {view.token} {view.number} {view.state}"
        self.ask(("HSET", self.keys.registers(self.partition), "log", text))
        return text


@pytest.fixture
def zone():
    with FencedBench() as bench:
        yield Zone(bench)


def test_a_register_is_promised_to_one_session_until_its_lease_ends_and_under_a_new_token_then(zone):
    answers = [zone.claims("one", 1), zone.claims("one", 1), zone.claims("two", 2, now_ms=100)]
    answers += [zone.claims("two", 1, now_ms=101), zone.claims("two", 2, now_ms=101)]
    assert answers == ["ok", "ok", "held", "older", "ok"]


def test_a_write_that_comes_late_changes_nothing_and_a_renewal_only_moves_the_end(zone):
    zone.claims("owner", 1)
    answers = [zone.writes(1, "first"), zone.writes(2, "second"), zone.writes(1, "first", ends_ms=900)]
    assert (answers, zone.register.state, zone.register.ends_ms) == (["ok"] * 3, "second", 100)
    zone.writes(2, "second", ends_ms=500)
    assert (zone.register.state, zone.register.ends_ms) == ("second", 500)
    zone.claims("two", 2, now_ms=501)
    assert zone.writes(3, "third") == "fenced"


def test_only_the_process_that_was_admitted_answers_and_only_in_its_era(zone):
    assert zone.claims("one", 1, era="1-another") == "era"
    zone.is_another_process()
    assert zone.claims("one", 1) == "unadmitted"


def test_an_era_is_left_for_a_newer_one_alone(zone):
    assert [zone.says("raise", era) for era in ("2-next", "2-next", "2-other", ERA)] == ["ok", "ok", "older", "older"]


def test_a_zone_is_admitted_once_all_pages_of_the_others_came(zone):
    zone.is_another_process()
    answers = [zone.says("admit", "2-next", 2)]
    for page in (1, 2):
        zone.says("fill", "2-next", page, "log")
        answers.append(zone.says("admit", "2-next", 2))
    assert answers == ["incomplete", "incomplete", "ok"]


@pytest.mark.parametrize(
    ("theirs", "kept"),
    [
        ({"promised": 4, "owner": "they", "token": 3, "number": 1, "state": "older"}, (5, "we", "ours")),
        ({"promised": 7, "owner": "they", "token": 3, "number": 3, "state": "newer"}, (7, "they", "newer")),
    ],
)
def test_a_page_brings_the_newer_state_and_the_higher_promise_and_never_the_older(zone, theirs, kept):
    zone.is_another_process()
    page = zone.has(**theirs)
    zone.has(promised=5, owner="we", token=3, number=2, state="ours")
    zone.says("fill", "2-next", 1, "registers", "log", page)
    assert (zone.register.promised, zone.register.owner, zone.register.state) == kept


def test_a_partition_is_not_begun_over_anything_that_a_zone_has_of_it(zone):
    zone.ask(("DEL", zone.keys.meta(zone.partition)), ("HSET", zone.keys.log(zone.partition), "0", "1 record"))
    assert zone.says("found", "1-second", zone.process) == "not empty"


class InPieces:
    """A connection whose server carries out one command of a pipeline after the other, and ``meanwhile`` after command
    ``after``.
    """

    def __init__(self, connection, *, after, meanwhile):
        self._connection, self._after, self._meanwhile = connection, after, meanwhile

    async def execute(self, *commands):
        replies = []
        for number, command in enumerate(commands, start=1):
            replies += await self._connection.execute(command)
            if number == self._after:
                await self._connection.execute(*self._meanwhile)
        return replies


@pytest.mark.parametrize("after", range(1, 5))
def test_what_a_zone_had_before_it_was_admitted_is_never_taken_for_that_of_an_admitted_zone(zone, after):
    bench, registers = zone.bench, zone.keys.registers(zone.partition)
    decided = zone.has(promised=1, owner="we", token=1, number=1, state="decided")
    zone.ask(("DEL", registers))
    zone.is_another_process()
    admission = [("HSET", registers, "log", decided)]
    admission += [("HSET", zone.keys.meta(zone.partition), "mark", zone.process, "era", "2-next")]
    pieces = InPieces(bench.cluster.direct("a"), after=after, meanwhile=admission)
    views = Views(zones={"a": pieces}, keys=zone.keys, runtime=bench.runtime)

    def seen():
        found = bench.run(views.of(zone.partition, ["log"])).values()
        return [view.registers[0].state for view in found if view.admitted]

    assert seen() in ([], ["decided"])
    assert seen() == ["decided"]
