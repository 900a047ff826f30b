"""Goal: what clients are told about their commands is true, whatever breaks. Every checker rests on this.

Method: random schedules of faults (links cut one way, dropping or holding; servers killed, paused, restarted; lags) and
of pipelines at every level, in virtual time with all time-outs at a fiftieth; then everything is mended and left to
settle, and every server's log is compared with what each client and each coordinator was told. Bugs planted in votes
and connections must be found.
"""

from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from support.cluster.stepped import MS, S, SteppedCluster

from zonelab.cluster.commands.routes import is_write
from zonelab.cluster.connections import peer
from zonelab.cluster.connections import server as server_connection
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag import ConstantLag, exponential
from zonelab.cluster.links.link import Cut
from zonelab.cluster.votes.levels import Level, LevelRule, quorum
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable

TIMEOUTS = Timeouts(factor=0.02)  # datastore 100 ms, peer 104 and 504 ms, back-off 20 to 200 ms

LAGS = st.sampled_from([ConstantLag(), ConstantLag(2), ConstantLag(30), exponential(5)])
COMMANDS = st.sampled_from(
    [
        ("SET", "lock", "NX"),  # zones answer differently when several clients race
        ("SET", "lock", "NX"),
        ("RPUSH", "lock"),  # fails on some zones, depending on who holds the lock
        ("ZADD", "set", "NX"),
        ("EVAL", "redis.call('SET', KEYS[1], 1) return redis.error_reply('ERR failed')", 1),
        ("GETRANGE", "lock"),
        ("GETRANGE", "lock"),
    ]
)
WHERE = st.sampled_from("aaabc")  # trouble adds up in one zone more often than if it were spread evenly
CALLS = st.tuples(st.just("call"), WHERE, st.sampled_from(list(Level)), st.lists(COMMANDS, min_size=1, max_size=2))
WAYS = st.sampled_from(["ba", "ca", "ab", "ac", "bc", "cb"])
CUTS = st.tuples(st.just("cut"), WAYS, st.sampled_from(list(Cut)))
VERBS = st.tuples(st.sampled_from(["kill", "kill", "pause", "resume", "restart"]), WHERE, st.none())
AROUND = st.tuples(st.sampled_from(["isolate", "mute", "deafen"]), WHERE, st.sampled_from(list(Cut)))
FAULTS = st.one_of(
    CUTS,
    CUTS,
    VERBS,
    VERBS,
    AROUND,
    AROUND,
    st.tuples(st.just("mend"), WAYS, st.none()),
    st.tuples(st.just("lag"), WAYS, LAGS),
)
WAITS = st.sampled_from([0, 1, 3, 10, 40, 110, 550])
MENUS = st.tuples(st.lists(CALLS, min_size=1, max_size=3), st.lists(FAULTS, min_size=2, max_size=5))
"""A schedule repeats few different steps: combinations that matter are then more likely than with all of them."""


@dataclass(frozen=True)
class Schedule:
    """What happens: steps with the milliseconds that pass after each."""

    zones: str
    lag: object
    service_ms: int
    seed: int
    steps: list


@st.composite
def schedules(draw):
    """Rounds: something breaks, clients send, something else breaks while that is under way, time passes."""
    calls, faults = (st.sampled_from(menu) for menu in draw(MENUS))
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        steps += draw(st.lists(st.tuples(faults, st.just(1)), max_size=2))
        steps += draw(st.lists(st.tuples(calls, st.sampled_from([0, 0, 1, 3])), min_size=1, max_size=3))
        steps += draw(st.lists(st.tuples(faults, WAITS), max_size=2))
    return Schedule(
        zones=draw(st.sampled_from(["abc", "abc", "ab"])),
        lag=draw(LAGS),
        service_ms=draw(st.sampled_from([0, 1, 4])),
        seed=draw(st.integers(0, 1_000)),
        steps=steps,
    )


def carry_out(schedule):
    cluster = SteppedCluster(
        schedule.zones,
        lag=schedule.lag,
        service_ns=schedule.service_ms * MS,
        timeouts=TIMEOUTS,
        seed=schedule.seed,
    )
    overhear(cluster)
    made = [0]
    for (step, where, *what), wait_ms in schedule.steps:
        take(cluster, step, where if len(schedule.zones) == 3 else where.replace("c", "b"), what, made)
        if wait_ms:
            cluster.run(wait_ms * MS)
    settle(cluster)
    return cluster


def overhear(cluster):
    """Note in ``cluster.answers`` what every zone's channel answers to whichever coordinator."""
    cluster.answers = []

    def submit(zone, channel, batch, done):
        def noted(answer):
            cluster.answers.append((zone, batch.commands, answer))
            done(answer)

        channel(batch, noted)

    for coordinator in cluster.coordinators.values():
        for zone, channel in zip(coordinator.zones, coordinator.channels, strict=True):
            channel.submit = partial(submit, zone, channel.submit)


def take(cluster, step, where, what, made):
    if len(set(where)) < len(where):
        return  # a way from b to b, in a cluster of two zones
    if step == "call":
        level, commands = what
        cluster.call(where, level, *[unique(command, made) for command in commands])
    elif step == "cut":
        cluster.links[*where].cut(what[0])
    elif step in ("isolate", "mute", "deafen"):
        for (source, target), link in cluster.links.items():
            if (source == where and step != "deafen") or (target == where and step != "mute"):
                link.cut(what[0])
    elif step == "mend":
        cluster.links[*where].mend()
    elif step == "lag":
        cluster.links[*where].set_lag(what[0])
    else:
        getattr(cluster.servers[where], step)()


def unique(command, made):
    """A command that no other in the run equals, so that the servers' logs tell them apart."""
    made[0] += 1
    number = str(made[0])
    name, key, *rest = command
    return {
        "SET": (name, key, f"holder {number}", *rest),
        "RPUSH": (name, key, number),
        "ZADD": (name, key, *rest, number, number),
        "EVAL": (name, key, *rest, f"evaluated {number}"),
        "GETRANGE": (name, key, 0, number),
    }[name]


def settle(cluster):
    """Undo every fault and wait for all that may still come."""
    cluster.mend_all()
    cluster.run(10 * S)


def violations(cluster):
    """Everything that a client was told and that is not so."""
    found = []
    for call in cluster.calls:
        found += false_claims(cluster, call)
    for zone, commands, answer in cluster.answers:
        found += false_answers(cluster.servers[zone], commands, answer)
    commands = sum(len(call.commands) for call in cluster.calls)
    counted = sum(counts.commands for one in cluster.coordinators.values() for counts in one.statistics.levels.values())
    if counted != commands:
        found.append(f"{commands} commands, {counted} counted")
    if not all(coordinator.connected for coordinator in cluster.coordinators.values()):
        found.append("a coordinator did not reconnect")
    return found


def false_answers(server, commands, answer):
    """What one zone's channel told the coordinator; most of it never reaches a client, but a vote may come to it."""
    executed = [bool(server.times_ns(*command)) for command in commands]
    if isinstance(answer, ZoneFailure):
        if not answer.maybe_applied and any(executed):
            yield f"{server.name} answered {answer!r}, but executed {commands}"
        return
    for command, reply, done in zip(commands, answer, executed, strict=True):
        if not done and not isinstance(reply, ServerError):
            yield f"{server.name} answered {reply!r}, but never executed {command}"


def executions(cluster, command):
    """When each server executed ``command``."""
    return {name: server.times_ns(*command) for name, server in cluster.servers.items()}


def false_claims(cluster, call):
    if call.ended_ns is None:
        yield f"{call.commands} never ended"
        return
    writes = [command for command in call.commands if is_write(command)]
    if call.ended_ns - call.invoked_ns > TIMEOUTS.peer_ns(writes=bool(writes)):
        yield f"{call.commands} took {call.ms} ms"
    if isinstance(call.error, Indeterminate) and not writes:
        yield f"{call.commands} cannot have changed anything, but is indeterminate"
    for command in writes:
        log = executions(cluster, command)
        if any(len(times) > 1 for times in log.values()):
            yield f"{command} was executed twice: {log}"
        if isinstance(call.error, Unavailable) and any(log.values()):
            yield f"{command} is unavailable, but was executed: {log}"
    for command, reply in zip(call.commands, call.replies or (), strict=False):
        log = executions(cluster, command)
        done = [name for name, times in log.items() if times and times[0] <= call.ended_ns]
        if isinstance(reply, ServerError):
            if is_write(command) and any(log.values()):
                yield f"{command} was answered {reply!r}, but was executed: {log}"
        elif call.level is not Level.DC_ONE and len(done) < quorum(len(cluster.servers)):
            yield f"{command} was answered {reply!r} by {done}"
        elif call.zone not in done and call.level is Level.DC_ONE:
            yield f"{command} was answered at {call.level} although {call.zone} had not executed it"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schedules())
def test_what_clients_are_told_is_true_whatever_breaks(schedule):
    assert violations(carry_out(schedule)) == []


def forget_that_a_request_was_lost(monkeypatch):
    arrive = peer._Request.arrive

    def arrive_anyway(request):
        request._lost = False
        arrive(request)

    monkeypatch.setattr(peer._Request, "arrive", arrive_anyway)


def take_a_time_out_for_a_loss(monkeypatch):
    def fail(request):
        request._done(ZoneFailure(peer.PEER_REFUSED, maybe_applied=request._reached))
        return len(request._batch.commands)

    monkeypatch.setattr(peer._Request, "fail", fail)


def take_a_broken_connection_for_a_refusal(monkeypatch):
    monkeypatch.setattr(
        server_connection, "ZoneFailure", lambda text, *, maybe_applied: ZoneFailure(text, maybe_applied=False)
    )


def forget_zones_that_have_not_answered(monkeypatch):
    monkeypatch.setattr(Vote, "maybe_applied", property(lambda vote: vote._maybe_applied or bool(vote._good)))


def count_errors_towards_the_quorum(monkeypatch):
    submit = Vote.submit

    def submit_text(vote, zone, reply):
        return submit(vote, zone, str(reply) if isinstance(reply, ServerError) else reply)

    monkeypatch.setattr(Vote, "submit", submit_text)


def decide_by_one_reply(monkeypatch):
    monkeypatch.setattr(LevelRule, "needed", lambda rule, zones: 1)


def forget_what_scripts_wrote(monkeypatch):
    monkeypatch.setattr("zonelab.cluster.votes.pipeline.is_script", lambda command: False)


def send_again_after_a_break(monkeypatch):
    def fail(request):
        request._peer.far_end.submit(request._batch, request._done)
        return len(request._batch.commands)

    monkeypatch.setattr(peer._Request, "fail", fail)


def never_reconnect(monkeypatch):
    monkeypatch.setattr(peer.Peer, "_connect", lambda self: None)


def ignore_deadlines(monkeypatch):
    monkeypatch.setattr("zonelab.cluster.connections.deadlines.Deadlines.watch", lambda self, deadline_ns: None)


@pytest.mark.parametrize(
    "bug",
    [
        forget_that_a_request_was_lost,
        take_a_time_out_for_a_loss,
        take_a_broken_connection_for_a_refusal,
        forget_zones_that_have_not_answered,
        count_errors_towards_the_quorum,
        decide_by_one_reply,
        forget_what_scripts_wrote,
        send_again_after_a_break,
        never_reconnect,
        ignore_deadlines,
    ],
    ids=lambda bug: bug.__name__,
)
def test_the_search_finds_planted_bugs(bug, monkeypatch):
    bug(monkeypatch)
    search = settings(
        max_examples=2_000, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    try:
        find(schedules(), lambda schedule: violations(carry_out(schedule)) != [], settings=search)
    except NoSuchExample:
        pytest.fail("no schedule showed the bug")
