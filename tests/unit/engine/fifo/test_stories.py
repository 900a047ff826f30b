"""Goal: what a member tells of a small run is all of it: each request, delivery and change of hands, with its columns.

Method: two members one after the other in simulated time, every column of every event but those that repeat.
"""

from support.engine.fenced import FencedBench
from support.engine.fifo_group import GroupBench

from zonelab.engine.fifo.consumer.listener import ConsumeStatus


class Story:
    """An observer that keeps every column."""

    def __init__(self, now_ms):
        self._now_ms, self._begun_ms, self._open, self._calls = now_ms, now_ms(), {}, 0
        self.rows = []
        self._numbers = iter(range(1, 99))

    def begin(self, kind, /, **columns):
        self._calls += 1
        self._open[self._calls] = (kind, columns)
        return self._calls

    def end(self, call, /, *, outcome, **columns):
        kind, known = self._open.pop(call)
        self.note(kind, **known, **columns, outcome=outcome)

    def start(self, **columns):
        self._calls += 1
        self.note("start", **columns)
        return self._calls

    def note(self, kind, /, **columns):
        self.rows.append((round(self._now_ms() - self._begun_ms), kind, columns))


def told(rows, *, times=True):
    """A line for each row; what repeats is checked here, and commits that change nothing are left out."""
    lines, last, started = [], None, {}
    for at_ms, kind, columns in rows:
        columns = dict(columns)
        member = columns.pop("member", None)
        assert columns.pop("partition", "t/0") == "t/0"
        if member is not None:
            assert columns.pop("group") == "group"
            assert columns.pop("session") == f"{member}.{'mn'.index(member) + 1}"
        if kind == "start":
            assert round(columns.pop("time_ns") / 1e6) >= at_ms
            started[columns["message_id"]] = dict(columns)
        if kind == "end":
            columns.pop("op_id")
            assert started.pop(columns["message_id"]).items() <= columns.items()
        if (until_ns := columns.pop("until_ns", None)) is not None:
            columns["in_ms"] = 50 * round((until_ns / 1e6 - at_ms) / 50)
        said = " ".join(f"{name}={value}" for name, value in columns.items() if value not in (None, ()))
        if kind != "commit" or (kind, columns) != last:
            lines.append(" ".join(map(str, [*([at_ms] if times else []), member or "p", kind, said])))
        last = (kind, columns) if kind == "commit" else last
    return lines


FAILED_TWICE = """
m start offset=0 attempt=1 key=k message_id=p1 epoch=0
m end offset=0 attempt=1 key=k message_id=p1 epoch=0 status=success
m start offset=1 attempt=1 key=k message_id=p2 epoch=0
m end offset=1 attempt=1 key=k message_id=p2 epoch=0 status=suspend
m fail offset=1 epoch=0 message_id=p2 key=k attempt=1 pause_ms=50 outcome=ok
m start offset=1 attempt=2 key=k message_id=p2 epoch=0
m end offset=1 attempt=2 key=k message_id=p2 epoch=0 status=suspend
m dead_letter offset=1 epoch=0 message_id=p2 key=k outcome=ok
m start offset=2 attempt=1 key=k message_id=p3 epoch=0
m end offset=2 attempt=1 key=k message_id=p3 epoch=0 status=success
""".strip().splitlines()
AFTER_MS = (0, 1, 1, 2, 2, 52, 53, 53, 53, 54)
"""The first delivery: a millisecond of work each, and a pause of 50."""

ORIGINAL = {
    "rocketmq-4.9": """
        0 m member status=joined detail=t
        0 m assign status=assigned
        0 m grant outcome=ok
        0 m assign status=begins cursor=0
        50 m renew outcome=ok
        50 m assign status=begins cursor=0
        51
        500 m commit cursor=3 outcome=ok
        1050 m renew outcome=ok
        1200 n member status=joined detail=t
        1700 m release status=shutdown outcome=ok
        1701 m member status=left detail=t
        1701 n assign status=assigned
        1701 n grant outcome=ok
        2250 n renew outcome=ok
        2252 n start offset=3 attempt=1 key=k message_id=p4 epoch=0
        2253 n end offset=3 attempt=1 key=k message_id=p4 epoch=0 status=success
        2450 n commit cursor=4 outcome=ok
        3250 n renew outcome=ok
    """,
    "rocketmq-5.3": """
        0 m member status=joined detail=t
        50 m assign status=assigned
        50 m grant outcome=ok
        50 m assign status=begins cursor=0
        75 m assign status=begins cursor=0
        76
        500 m commit cursor=3 outcome=ok
        1050 m renew outcome=ok
        1050 m renew outcome=ok
        1200 n member status=joined detail=t
        1700 m release status=shutdown outcome=ok
        1701 m member status=left detail=t
        1701 n assign status=assigned
        1701 n grant outcome=ok
        1727 n start offset=3 attempt=1 key=k message_id=p4 epoch=0
        1728 n end offset=3 attempt=1 key=k message_id=p4 epoch=0 status=success
        1950 n commit cursor=4 outcome=ok
        2250 n renew outcome=ok
        2250 n renew outcome=ok
        3250 n renew outcome=ok
        3250 n renew outcome=ok
    """,
}
"""In ms. A number alone: so ``FAILED_TWICE`` begins. Times are RocketMQ's divided by 20."""

FENCED = """
    m member status=joined detail=t
    p produce epoch=0 message_id=k-0 key=k producer=p sequence=1 outcome=ok
    p produce epoch=0 message_id=k-1 key=k producer=p sequence=2 outcome=ok
    p produce epoch=0 message_id=k-2 key=k producer=p sequence=3 outcome=ok
    m assign status=assigned
    m grant generation=1 token=1 cursor=0 outcome=ok in_ms=3000
    m start generation=1 token=1 offset=0 attempt=1 key=k message_id=k-0 epoch=0
    m end generation=1 token=1 offset=0 attempt=1 key=k message_id=k-0 epoch=0 status=success
    m commit generation=1 token=1 offset=0 cursor=1 outcome=ok
    m start generation=1 token=1 offset=1 attempt=1 key=k message_id=k-1 epoch=0
    m end generation=1 token=1 offset=1 attempt=1 key=k message_id=k-1 epoch=0 status=suspend
    m fail generation=1 token=1 offset=1 epoch=0 message_id=k-1 key=k attempt=1 outcome=ok in_ms=50
    m start generation=1 token=1 offset=1 attempt=2 key=k message_id=k-1 epoch=0
    m end generation=1 token=1 offset=1 attempt=2 key=k message_id=k-1 epoch=0 status=suspend
    m dead_letter generation=1 token=1 offset=1 epoch=0 message_id=k-1 key=k cursor=2 outcome=ok
    m start generation=1 token=1 offset=2 attempt=1 key=k message_id=k-2 epoch=0
    m end generation=1 token=1 offset=2 attempt=1 key=k message_id=k-2 epoch=0 status=success
    m commit generation=1 token=1 offset=2 cursor=3 outcome=ok
    m renew generation=1 token=1 outcome=ok in_ms=3000
    n member status=joined detail=t
    m release generation=1 token=1 status=drained outcome=ok
    m member status=left detail=t
    p produce epoch=0 message_id=k-3 key=k producer=p sequence=4 outcome=ok in_ms=100
    n assign status=assigned
    n grant generation=1 token=2 cursor=3 outcome=ok in_ms=3000
    n start generation=1 token=2 offset=3 attempt=1 key=k message_id=k-3 epoch=0
    n end generation=1 token=2 offset=3 attempt=1 key=k message_id=k-3 epoch=0 status=success
    n commit generation=1 token=2 offset=3 cursor=4 outcome=ok
    n renew generation=1 token=2 outcome=ok in_ms=3000
    n release generation=1 token=2 status=drained outcome=ok
    n member status=left detail=t
"""


def expected(text):
    for line in map(str.strip, text.strip().splitlines()):
        at, _, said = line.partition(" ")
        if at.isdigit() and not said:
            yield from (f"{int(at) + after} {row}" for after, row in zip(AFTER_MS, FAILED_TWICE, strict=True))
        else:
            yield line


def test_a_message_fails_and_the_partition_goes_to_the_next_member(lab, mode):
    bench = GroupBench(lab, mode, work_ms=1, reconsumed_max=1)
    bench.told = Story(bench.now_ms)
    bench.handle = lambda delivered, _: ConsumeStatus.SUSPEND if delivered[0].offset == 1 else ConsumeStatus.SUCCESS
    bench.produce(3)
    bench.start("m")
    bench.pause_ms(1_200)
    bench.start("n")
    bench.pause_ms(500)
    bench.close("m")
    bench.produce(1, first=3)
    bench.pause_ms(2_500)
    bench.kill("n")
    assert told(bench.told.rows) == list(expected(ORIGINAL[mode]))


def test_so_it_does_where_zones_check_tokens_and_a_producer_tells_of_its_messages():
    with FencedBench(partitions=1, reconsumed_max=1) as bench:
        bench.observer = Story(lambda: bench.runtime.now_ns() / 1e6)
        bench.handle = lambda one: ConsumeStatus.SUSPEND if one.offset == 1 else None
        bench.sink.take = lambda told, one, fence: True
        bench._numbers = iter((1, 2))

        async def whole():
            producer = bench.producer("a", "p")
            await bench.start("m", "a")
            await bench.push_all(producer, range(3))
            await bench.pause_ms(1_200)
            await bench.start("n", "b")
            await bench.pause_ms(500)
            await bench.programs["m"][0].close()
            await bench.push(producer, "k", 3, delay_ms=100)
            await bench.pause_ms(1_500)
            await bench.programs["n"][0].close()

        bench.run(whole())
        assert told(bench.observer.rows, times=False) == list(expected(FENCED))
