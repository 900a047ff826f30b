"""Goal: locks, members and dead letters go by the broker's rules. Method: one simulated server, whose time passes."""

import pytest
from support.engine.fifo import LogBench

from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.zones.dead_letters import DeadLetter, DeadLetters
from zonelab.engine.fifo.zones.locks import Locks
from zonelab.engine.fifo.zones.members import Members

LEASE_MS = 100
P, Q = Partition("t", "a", 0), Partition("t", "a", 1)


class Stage(LogBench):
    def __init__(self, lab):
        super().__init__(lab)
        level, keys = lab.direct("a"), self.keys
        self.locks = Locks("g", level=level, keys=keys, lease_ms=LEASE_MS)
        self.members = Members("g", level=level, near=level, keys=keys, expiry_ms=100, scan_ms=10)
        self.dead = DeadLetters("g", level=level, keys=keys)

    def lock(self, owner, *partitions):
        return self.run(self.locks.try_lock(partitions or (P,), owner))

    def wait_ms(self, duration_ms):
        self.run(self.lab.runtime.sleep(duration_ms * 1_000_000))


@pytest.fixture
def stage(lab):
    return Stage(lab)


def test_a_free_lock_is_given_and_its_owner_renews_it(stage):
    assert stage.lock("m1") == stage.lock("m1") == [P]
    assert stage.lock("m2") == []


def test_a_lock_that_was_not_renewed_within_the_lease_goes_to_whoever_asks(stage):
    stage.lock("m1")
    stage.wait_ms(60)
    stage.lock("m1")
    stage.wait_ms(LEASE_MS)
    assert stage.lock("m2") == []  # as old as the lease, and not older
    stage.wait_ms(1)
    assert stage.lock("m2") == [P]


def test_of_several_locks_those_are_given_that_can_be(stage):
    stage.lock("m1", P)
    assert stage.lock("m2", P, Q) == [Q]
    assert stage.lock("m1", P, Q) == [P]


def test_a_lock_is_freed_by_its_owner_alone_and_by_name(stage):
    stage.lock("m1")
    stage.run(stage.locks.unlock([P], "m2"))
    assert stage.lock("m2") == []
    stage.run(stage.locks.unlock([P], "m1"))
    assert stage.lock("m2") == [P]


def test_groups_do_not_share_locks(stage, lab):
    other = Locks("other", level=lab.direct("a"), keys=stage.keys, lease_ms=LEASE_MS)
    stage.lock("m1")
    assert stage.run(other.try_lock([P], "m2")) == [P]


def test_members_come_with_a_heartbeat_and_go_when_they_leave_or_are_silent(stage):
    members, run = stage.members, stage.run
    for name in ("m2", "m1", "m3"):
        run(members.heartbeat(name))
    assert run(members.names()) == ["m1", "m2", "m3"]
    before = run(members.changes())
    run(members.leave("m3"))
    run(members.heartbeat("m1"))
    assert run(members.changes()) == before + 1
    stage.wait_ms(60)
    run(members.heartbeat("m1"))
    stage.wait_ms(60)
    assert run(members.names()) == ["m1"]
    assert run(members.changes()) == before + 1  # nobody is told of whom silence removes


def test_a_dead_letter_is_listed_after_its_delay(stage, lab):
    stage.append(1)
    (entry,) = stage.run(stage.logs.read(P, offset=0, count=1))
    for delay_ms, attempts in ((1_000, 3), (0, 4)):
        stage.run(stage.dead.add(P, entry, attempts=attempts, delay_ms=delay_ms))
    first, second = (DeadLetter(id="p1", partition="t/0", offset=0, attempts=number) for number in (4, 3))
    now_ms = lab.cluster.clock("a").now_ms()
    assert stage.run(stage.dead.listed(now_ms=now_ms)) == [first]
    assert stage.run(stage.dead.listed(now_ms=now_ms + 1_001)) == [first, second]
