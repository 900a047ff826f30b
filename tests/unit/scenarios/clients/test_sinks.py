"""Goal: a fenced sink takes what the newest token brings in order, a naive one all, and both tell what they have.

Method: effects by hand, of two groups, partitions and keys.
"""

from typing import Any

import pytest

from zonelab.scenarios.clients.sinks import Answer, Effect, Sink
from zonelab.scenarios.spec.ordered.sections import SinkKind

FENCED, REPEATED = Answer(None, "fenced"), Answer(None, "repeated")


def effect(offset: int, *, token: int = 5, generation: int = 1, epoch: int = 0, **parts: Any) -> Effect:
    plain = {"group": "g", "partition": "t/0", "key": "k", "message_id": f"m{offset}", "state": ""}
    return Effect(place=(epoch, offset), ballot=(generation, token), **{**plain, **parts})


def taken(sink: Sink, *effects: Effect) -> list[Answer]:
    return [sink.take(one) for one in effects]


def test_a_fenced_sink_refuses_older_tokens_of_the_partition_and_older_messages_of_the_key() -> None:
    sink = Sink(SinkKind.LIST, fenced=True)
    assert taken(
        sink,
        *(effect(3), effect(3), effect(2), effect(4)),
        *(effect(5, token=4), effect(5, token=9, generation=0), effect(5, token=6), effect(6, token=5)),
        *(effect(5, token=1, generation=2, key="l"), effect(7, token=6)),
        *(effect(0, token=1, generation=2, epoch=1), effect(9, token=1, generation=2)),
        *(effect(0, token=1, partition="t/1", key="n"), effect(0, token=1, group="h")),
    ) == [
        *(Answer(0), REPEATED, REPEATED, Answer(1)),
        *(FENCED, FENCED, Answer(2), FENCED),
        *(Answer(3), FENCED),
        *(Answer(4), REPEATED),
        *(Answer(5), Answer(6)),
    ]


def test_a_naive_sink_takes_everything() -> None:
    sink = Sink(SinkKind.LIST, fenced=False)
    assert taken(sink, effect(3), effect(3), effect(2, token=0)) == [Answer(0), Answer(1), Answer(2)]


@pytest.mark.parametrize("kind", SinkKind)
def test_a_list_has_every_effect_and_others_the_last_of_each_key(kind: SinkKind) -> None:
    sink = Sink(kind, fenced=False, states=("x",))
    taken(sink, effect(0), effect(1, token=6, generation=2), effect(0, key="l", group="h", partition="t/1"))
    plain = {"place": "sink", "group": "g", "partition": "t/0", "generation": 1, "token": 5, "key": "k"}
    first = {**plain, "offset": 0, "message_id": "m0", "position": 0}
    second = {**plain, "offset": 1, "message_id": "m1", "position": 1, "generation": 2, "token": 6}
    other = {**plain, "group": "h", "partition": "t/1", "key": "l", "offset": 0, "message_id": "m0", "position": 2}
    assert list(sink.rows()) == ([first, second, other] if kind is SinkKind.LIST else [second, other])


@pytest.mark.parametrize(
    ("states", "illegal"),
    [
        (["new", "paid", "sent"], 0),
        (["paid"], 1),
        (["new", "new"], 1),
        (["new", "sent"], 1),
        (["new", "paid", "sent", "sent"], 1),
        (["new", "lost", "new"], 2),
        (["paid", "sent"], 1),
    ],
)
def test_a_key_that_is_not_in_its_next_state_is_counted(states: list[str], illegal: int) -> None:
    sink = Sink(SinkKind.STATES, fenced=False, states=("new", "paid", "sent"))
    taken(sink, *(effect(number, state=state) for number, state in enumerate(states)))
    taken(sink, effect(0, key="another", state="new"))
    assert sink.illegal == illegal
    others = Sink(SinkKind.LIST, fenced=False, states=("new",))
    taken(others, effect(0, state="old"))
    assert others.illegal == 0
