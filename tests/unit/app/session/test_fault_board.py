"""Goal: faults begin, end and are recorded as asked, in any order, and a failure of one leaves the others in order.

Method: the board on zones and coordinators that the test plays.
"""

import json

import pytest
from support.app.session_board import fault, with_board
from support.coroutines import until

from zonelab.app.session.fault_board import Conflict
from zonelab.cluster.zone import ClusterError, Restart, ZoneState
from zonelab.scenarios.errors import NotAccepted

on_board = with_board("a", "b", "c")


async def until_due(lab, after_s):
    """Until a fault of zone c has ended by itself: a loop keeps the order of its timers, so all due before have run."""
    told = await lab.board.begin(fault("pause", "c", for_s=after_s))
    await until(lambda: told["number"] not in [one["number"] for one in lab.board.active])


@on_board
async def test_a_cut_zone_is_cut_in_the_coordinators_at_both_ends_of_every_link(lab):
    await lab.board.begin(fault("cut", "b"))
    assert lab.coordinators["a"].cuts() == {"a>b": "drop", "b>a": "drop"}
    assert lab.coordinators["b"].cuts() == {"a>b": "drop", "b>a": "drop", "b>c": "drop", "c>b": "drop"}
    assert lab.coordinators["c"].cuts() == {"b>c": "drop", "c>b": "drop"}


@on_board
async def test_when_one_of_two_faults_on_a_link_ends_the_other_stays(lab):
    await lab.board.begin(fault("cut", "b"))
    await lab.board.begin(fault("clog", "a>b"))
    assert lab.coordinators["a"].cuts() == {"a>b": "hold", "b>a": "drop"}
    assert await lab.board.end(1) == ["1:cut b"]
    assert lab.coordinators["a"].cuts() == {"a>b": "hold"}
    assert lab.coordinators["c"].cuts() == {}
    assert [one["fault"] for one in lab.board.active] == ["2:clog a>b"]


@pytest.mark.parametrize(("verb", "cut"), [("crash", "drop"), ("pause", "freeze")])
@on_board
async def test_with_a_coordinator_its_zone_is_out_of_reach_for_the_others_until_that_ends(lab, verb, cut):
    told = await lab.board.begin(fault(f"coordinator_{verb}", "b"))
    assert told["links"] == ["a>b", "b>a", "b>c", "c>b"]
    assert lab.coordinators["a"].cuts() == {"a>b": cut, "b>a": cut}
    assert lab.coordinators["c"].cuts() == {"b>c": cut, "c>b": cut}
    await lab.board.begin(fault("coordinator_crash", "c"))
    await lab.board.end(1)
    assert lab.coordinators["a"].cuts() == {"a>c": "drop", "c>a": "drop"}
    assert lab.coordinators["b"].cuts() == {"b>c": "drop", "c>b": "drop"}
    await lab.board.restart("c", of_coordinator=True)
    assert all(coordinator.cuts() == {} for coordinator in lab.coordinators.values())


@pytest.mark.parametrize("verb", ["crash", "pause"])
@on_board
async def test_without_its_port_a_zone_is_still_reached_by_the_others(lab, verb):
    told = await lab.board.begin(fault(f"port_{verb}", "b"))
    assert (told["fault"], told["links"]) == (f"1:port_{verb} b", [])
    assert lab.coordinators["a"].cuts() == lab.coordinators["c"].cuts() == {}
    with pytest.raises(Conflict, match=rf"coordinator b is under 1:port_{verb} b already"):
        await lab.board.begin(fault("coordinator_crash", "b"))
    assert (await lab.board.restart("b", of_coordinator=True))[0] == f"ended 1:port_{verb} b"
    assert lab.coordinators["b"].state is ZoneState.RUNNING


@on_board
async def test_a_coordinator_that_dies_by_itself_takes_its_zone_from_the_others_until_it_is_healed(lab):
    await lab.board.begin(fault("port_pause", "a"))
    lab.coordinators["a"].die()
    lab.coordinators["b"].die()
    await until(lambda: lab.board.active[1:])
    assert [one["fault"] for one in lab.board.active] == ["1:port_pause a", "2:coordinator_crash b"]
    assert lab.coordinators["c"].cuts() == {"b>c": "drop", "c>b": "drop"}
    assert await lab.board.heal() == ["ended 1:port_pause a", "ended 2:coordinator_crash b"]
    assert all(one.cuts() == {} and one.state is ZoneState.RUNNING for one in lab.coordinators.values())


@on_board
async def test_a_restart_of_a_coordinator_is_a_death_that_the_others_see(lab):
    seen = []
    set_links = lab.coordinators["a"].set_links

    async def noting(states):
        await set_links(states)
        seen.append(lab.coordinators["a"].cuts())

    lab.coordinators["a"].set_links = noting
    assert await lab.board.restart("b", of_coordinator=True) == ["restarted coordinator b"]
    assert seen == [{"a>b": "drop", "b>a": "drop"}, {}]


@on_board
async def test_a_coordinator_that_was_away_learns_how_its_links_are_to_be(lab):
    await lab.board.begin(fault("coordinator_crash", "a"))
    await lab.board.begin(fault("cut", "a:b"))
    assert lab.coordinators["a"].links == {}
    await lab.board.restart("a", of_coordinator=True)
    assert lab.coordinators["a"].cuts() == {"a>b": "drop", "b>a": "drop"}
    await lab.board.begin(fault("coordinator_pause", "a"))
    await lab.board.end(2)
    await lab.board.heal()
    assert lab.coordinators["a"].cuts() == {}


@on_board
async def test_a_server_has_one_fault_and_the_second_is_told_which(lab):
    await lab.board.begin(fault("pause", "c"))
    with pytest.raises(Conflict, match=r"zone c is under 1:pause c already: zonelab fault end 1"):
        await lab.board.begin(fault("kill", "c"))
    assert lab.zones["c"].verbs == ["pause"]
    await lab.board.begin(fault("kill", "b"))
    await lab.board.begin(fault("coordinator_crash", "c"))
    assert len(lab.notes.rows) == 3


@on_board
async def test_a_killed_server_comes_back_as_the_fault_or_the_restart_says(lab):
    await lab.board.begin(fault("wipe", "a"))
    await lab.board.end(1)
    await lab.board.begin(fault("kill", "b"))
    assert await lab.board.restart("b", Restart.WARM) == ["ended 2:kill b"]
    await lab.board.restart("c", Restart.KEEP)
    assert lab.zones["a"].verbs == ["kill", "restart wipe"]
    assert lab.zones["b"].verbs == ["kill", "restart warm from a"]
    assert lab.zones["c"].verbs == ["kill", "restart keep"]
    assert [row["name"] for row in lab.notes.rows] == ["1:wipe a", "2:kill b", "3:kill c"]


@on_board
async def test_without_a_running_zone_to_copy_from_a_warm_restart_is_refused_before_anything_happens(lab):
    for name in "ab":
        await lab.board.begin(fault("kill", name))
    with pytest.raises(Conflict, match="accepted now: keep, wipe"):
        await lab.board.restart("c", Restart.WARM)
    assert lab.zones["c"].verbs == []


@on_board
async def test_a_fault_for_a_time_ends_by_itself_once(lab):
    await lab.board.begin(fault("pause", "a", for_s=0.01))
    await until(lambda: not lab.board.active)
    assert lab.zones["a"].verbs == ["pause", "resume"]
    with pytest.raises(NotAccepted, match="fault 1 is not in force; in force: none"):
        await lab.board.end(1)


@on_board
async def test_a_fault_that_is_healed_before_its_time_does_not_end_a_second_time(lab):
    await lab.board.begin(fault("pause", "a", for_s=0.02))
    await lab.board.heal()
    await lab.board.begin(fault("pause", "a"))
    await until_due(lab, 0.05)
    assert lab.zones["a"].verbs == ["pause", "resume", "pause"]


@on_board
async def test_a_slow_server_is_slow_until_that_ends_also_if_it_died_meanwhile(lab):
    await lab.board.begin(fault("slow", "a", factor=50))
    assert lab.zones["a"].verbs == ["slow down 50"]
    await lab.board.heal()
    await lab.board.begin(fault("slow", "a", factor=2))
    lab.zones["a"].state = ZoneState.DEAD
    await lab.board.heal()
    assert lab.zones["a"].verbs[1:] == ["slow down 1", "slow down 2", "slow down 1", "restart keep"]


@on_board
async def test_healing_twice_does_nothing_the_second_time_and_revives_what_died_by_itself(lab):
    await lab.board.begin(fault("lag", "all", lag="constant:5ms"))
    lab.zones["b"].state = ZoneState.DEAD
    lab.coordinators["c"].state = ZoneState.DEAD
    assert await lab.board.heal() == [
        "ended 1:lag all constant:5ms",
        "restarted zone b",
        "restarted coordinator c",
    ]
    assert await lab.board.heal() == []


@on_board
async def test_a_fault_that_cannot_be_ended_stays_in_force_and_its_failure_is_recorded(lab):
    lab.zones["a"].broken = True
    await lab.board.begin(fault("kill", "a", for_s=0.01))
    await until(lambda: lab.notes.verbs)
    ((verb, arguments, error),) = lab.notes.verbs
    assert (verb, arguments) == ("end", {"fault": "1:kill a"})
    assert "ended while it started" in error
    assert [one["fault"] for one in lab.board.active] == ["1:kill a"]
    with pytest.raises(ClusterError):
        await lab.board.heal()
    lab.zones["a"].broken = False
    assert await lab.board.heal() == ["ended 1:kill a"]


@on_board
async def test_a_server_that_a_restart_did_not_bring_up_is_under_a_fault_until_it_is_healed(lab):
    lab.zones["a"].broken = True
    with pytest.raises(ClusterError, match="a: the server ended while it started"):
        await lab.board.restart("a", Restart.KEEP)
    assert [one["fault"] for one in lab.board.active] == ["1:kill a"]
    assert lab.notes.rows[0]["end_ns"] is None
    lab.zones["a"].broken = False
    assert await lab.board.heal() == ["ended 1:kill a"]
    assert lab.notes.rows[0]["end_ns"] is not None
    assert await lab.board.heal() == []


@on_board
async def test_a_coordinator_that_a_restart_did_not_bring_up_is_under_a_fault_until_it_is_healed(lab):
    async def refuse():
        raise ClusterError("coordinator b could not start")

    start, lab.coordinators["b"].start = lab.coordinators["b"].start, refuse
    with pytest.raises(ClusterError, match="b could not start"):
        await lab.board.restart("b", of_coordinator=True)
    assert [one["fault"] for one in lab.board.active] == ["1:coordinator_crash b"]
    assert lab.coordinators["a"].cuts() == {"a>b": "drop", "b>a": "drop"}
    lab.coordinators["b"].start = start
    assert await lab.board.heal() == ["ended 1:coordinator_crash b"]


@on_board
async def test_what_cannot_be_healed_keeps_nothing_else_from_it(lab):
    lab.zones["a"].broken = True
    await lab.board.begin(fault("kill", "a"))
    await lab.board.begin(fault("cut", "b"))
    lab.coordinators["c"].state = ZoneState.DEAD
    with pytest.raises(ClusterError, match="the server ended while it started; ended 2:cut b; restarted coord"):
        await lab.board.heal()
    assert [one["fault"] for one in lab.board.active] == ["1:kill a"]
    assert all(coordinator.cuts() == {} for coordinator in lab.coordinators.values())


@on_board
async def test_what_cannot_be_changes_nothing_and_is_not_recorded(lab):
    for request in (fault("cut", "x"), fault("kill", "x"), fault("coordinator_crash", "x")):
        with pytest.raises(NotAccepted):
            await lab.board.begin(request)
    assert lab.board.active == lab.notes.rows == []


@on_board
async def test_a_row_tells_what_was_asked_for_and_nothing_else(lab):
    await lab.board.begin(fault("loss", "a:b", share=0.1, for_s=60))
    (row,) = lab.notes.rows
    assert json.loads(row["detail"]) == {"kind": "loss", "target": "a:b", "share": 0.1, "for_s": 60}
    assert (row["name"], row["kind"], row["target"]) == ("1:loss a:b 10%", "loss", "a:b")
