"""Goal: faults of what a living program sees do what they say, to that program only, and end.

Method: a program's connection, runtime and clock on a simulated zone; short runs in virtual time; rules of scenarios.
"""

import re

import pytest
from support.scenarios.fault_stage import MS, ran
from support.scenarios.sim_runs import small

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.clients.program_crash import CrashSwitch, ProgramCrashed
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.faults.seen import runs, scripts
from zonelab.scenarios.run.simulated import settings_of

READS = ("GET", "k")
WRITE = ("SET", "k", "v")


class OneProgram:
    def __init__(self):
        self.cluster = SimCluster(("a",), settings_of(small(topology={"zones": ["a"]}, level="DC_ONE")))
        self.base = self.cluster.runtime
        self.base.run_until_complete(self.cluster.start())
        self.switch = CrashSwitch("p")
        self.view = self.switch.view
        self.connection = self.switch.wrap(self.cluster.connection("a", Level.DC_ONE))
        self.runtime = self.switch.wrap.runtime_of(self.base)
        self.said = []

    def begins(self, *commands):
        async def ask():
            try:
                self.said.append(await self.connection.execute(*commands))
            except ProgramCrashed:
                self.said.append("crashed")

        self.base.spawn(ask(), name="asks")
        self.base.run(for_ns=100 * MS)

    def stored(self):
        return self.base.run_until_complete(self.cluster.direct("a").execute(READS)) == [b"v"]

    def passes(self, ms=100):
        self.base.run(for_ns=ms * MS)


@pytest.fixture
def program():
    return OneProgram()


@pytest.mark.parametrize(("after_effect", "stored"), [(False, False), (True, True)])
def test_a_program_stands_still_before_its_command_or_when_it_has_taken_effect(program, after_effect, stored):
    program.view.pause(program.base, at_command=2, after_effect=after_effect)
    program.begins(READS)
    program.begins(WRITE)
    assert (len(program.said), program.stored()) == (1, stored)
    program.view.go_on()
    program.passes()
    assert (len(program.said), program.stored()) == (2, True)


def test_time_passes_without_a_program_that_stands_still(program):
    woken = []

    async def sleeps():
        await program.runtime.sleep(50 * MS)
        woken.append("sleep")

    program.base.spawn(sleeps(), name="sleeps")
    program.runtime.call_later(50 * MS, lambda: woken.append("timer"))
    program.runtime.call_later(50 * MS, lambda: woken.append("cancelled")).cancel()
    program.passes(10)
    program.view.pause(program.base, at_command=None, after_effect=False)
    program.passes(200)
    assert woken == []
    program.view.go_on()
    program.passes(10)
    assert woken == ["timer", "sleep"]


def test_a_program_that_is_killed_while_it_stands_still_sends_nothing_more(program):
    program.view.pause(program.base, at_command=None, after_effect=False)
    program.begins(WRITE)
    program.switch.crash()
    program.view.go_on()
    program.passes()
    assert (program.said, program.stored()) == (["crashed"], False)


def test_a_late_command_waits_and_what_is_sent_beside_it_does_not(program):
    late = program.view.alter(program.base, concerns=runs("SET"), late_ms=300)
    program.begins(WRITE)
    program.begins(READS)
    assert program.said == [[None]]
    program.passes(300)
    assert program.stored()
    program.view.mend(late)
    program.begins(WRITE)
    assert len(program.said) == 3


def test_a_program_may_have_a_clock_of_its_own(program):
    clock = program.switch.wrap.clock_of(program.cluster.clock("a"))
    before_ms = clock.now_ms()
    program.view.own_clock = NodeClock(epoch_ns=0, run_ns=program.base.now_ns)
    program.view.own_clock.jump(-5_000 * MS)
    assert clock.now_ms() == before_ms - 5_000
    program.view.own_clock = None
    assert clock.now_ms() == before_ms


def test_scripts_are_known_by_the_names_of_their_files():
    text = scripts()["unlock"][0]
    assert runs("unlock")(("EVAL", f"-- what several share\n{text}", 1, "k"))
    assert not runs("unlock")(("EVAL", scripts()["heartbeat"][0], 1, "k"))
    assert runs("ZADD")(("ZADD", "k", 1, "m"))
    assert not runs("ZADD")(("EVAL", "return 1", 0))


def test_in_a_run_one_consumer_does_nothing_while_it_stands_still_and_the_others_go_on():
    fault = {"kind": "program_pause", "zone": "a", "consumer": 0, "at_s": 0.5, "for_s": 1}
    rows, _ = ran(load={"duration_s": 2, "rate_per_s": 40}, faults=[fault])
    begun = [(row["process"], row["time_ns"]) for row in rows if row["type"] == "invoke"]
    load_ns = min(time_ns for process, time_ns in begun if process.startswith("producer"))

    def between(process, since_s, until_s):
        return sum(since_s < (time_ns - load_ns) / 1e9 < until_s for who, time_ns in begun if who == process)

    assert between("consumer-a-0", 0.6, 1.3) == 0
    assert between("consumer-b-0", 0.6, 1.3) > 10
    assert between("consumer-a-0", 1.6, 2.5) > 0


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ({"kind": "program_pause", "zone": "a", "consumer": 9}, "got 9; accepted: 0.."),
        ({"kind": "program_pause", "zone": "x"}, "got 'x'; accepted: a zone"),
        (
            {"kind": "command_delay", "zone": "a", "script": "unlok", "late_ms": 5},
            "got 'unlok'; accepted: a Redis command",
        ),
        ({"kind": "member_hidden", "zone": "a", "hidden": "b-0"}, "this queue has no consumer groups"),
        ({"kind": "clock", "zone": "a", "consumer": 9, "offset_ms": 5}, "got 9; accepted: 0.."),
    ],
)
def test_a_fault_of_a_program_that_is_not_there_is_refused_with_what_is_accepted(fault, problem):
    with pytest.raises(ScenarioError, match=re.escape(problem)):
        small(faults=[{"at_s": 0.1, "for_s": 0.1, **fault}])
